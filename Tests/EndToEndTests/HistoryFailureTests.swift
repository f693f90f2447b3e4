import StateMachineSQLite
import TestSupport
import Testing

/// A history that refuses what it is given, or cannot return what it took: the daemon's own
/// trouble, `internal`.
@Suite(.bounded) struct HistoryFailureTests {
    @Test func aSetThatCannotBeWrittenIsRefusedAndTheConnectionGoesOn() async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            let watcher = try daemon.connect(\.events)
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("set ready value=true").seq == 1)
            try Self.refuse(in: "change", of: daemon)

            let refusal = try await setter.ask(
                #"{"op":"set","id":7,"state":"authentication","data":{"phase":"active"}}"#
            )
            // Nothing has changed, and the refusal gives the current state.
            #expect(refusal.type == "reply" && refusal.int("id") == 7 && refusal.ok == false)
            #expect(refusal.error == "internal" && refusal.seq == 1 && refusal.state == "ready")
            for part in [
                "the change was not made, as the history cannot be written",
                "\(daemon.state)/statemachine.sqlite", "no more",
            ] {
                #expect(refusal.string("message")?.contains(part) == true, "\(refusal)")
            }
            #expect(try await setter.ask("ping").seq == 1)
            #expect(try await setter.ask("get").state == "ready")

            try Self.database(in: daemon.state, "DROP TRIGGER refusal")
            let reply = try await setter.ask("set dataRetrieval phase=active")
            #expect(reply.ok == true && reply.seq == 2)
            // Nobody was told of the set in between.
            let lines = [
                try await watcher.next(), try await watcher.next(), try await watcher.next(),
            ]
            #expect(lines.map(\.type) == ["state", "change", "change"])
            #expect(lines.map(\.seq) == [0, 1, 2])
            #expect(lines.map(\.state) == ["ready", "ready", "dataRetrieval"])
        }
    }

    /// Its client sends no more before that is known, or goes on.
    @Test(arguments: [false, true])
    func aRequiredGuardThatCannotBeWrittenIsNotThere(isEnded: Bool) async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("set authentication phase=idle").seq == 1)
            try Self.refuse(in: "kept", of: daemon)
            let guards = (1...2).map { number in
                #"{"op":"guard","id":\#(number),"before":["ready"],"required":"door"}"#
            }
            let voter = try daemon.connect(\.control)
            try voter.send(raw: guards.map { $0 + "\n" }.joined())
            if isEnded { voter.endInput() }
            for _ in guards { #expect(try await voter.next().error == "internal") }
            try Self.database(in: daemon.state, "DROP TRIGGER refusal")
            if !isEnded { #expect(try await voter.ask("ping").ok == true) }
            let stats = try await setter.ask("stats")
            #expect(!stats.has("guards"), "\(stats)")
            #expect(try await setter.ask("set ready value=true").seq == 2)
        }
    }

    @Test func whatCannotBeReadIsRefusedOrAnnouncedUntilItCan() async throws {
        try await DaemonProcess.run(changes: 1500) { daemon in
            let damage = "UPDATE change SET fromState = 'ready' WHERE seq = 1000"
            try Self.database(in: daemon.state, damage)
            let client = try daemon.connect(\.control)
            let epoch = try await daemon.epoch()

            let refused = try await Self.page(client, #","limit":10000"#)
            #expect(refused.seqs == Array(1...999))
            #expect(refused.reply.ok == false)
            #expect(refused.reply.error == "internal")
            #expect(refused.reply.int("id") == 1)
            let message = try #require(refused.reply.string("message"))
            #expect(message.contains("the changes after \(refused.seqs.count) cannot be read"))
            #expect(!message.contains("\(daemon.state)/statemachine.sqlite"))
            let backwards = try await Self.page(client, #","limit":10000,"order":"newest""#)
            #expect(backwards.seqs == Array(1001...1500).reversed())
            #expect(backwards.reply.string("message")?.contains("the change 1000 ") == true)
            // Changes elsewhere can still be read.
            let later = try await Self.page(client, #","since":"\#(epoch):1000""#)
            #expect(later.reply.ok == true && later.seqs == Array(1001...1500))

            func resync(waitingFor pattern: String, after seq: Int) async throws -> String? {
                let wait =
                    #"{"op":"wait","since":"\#(epoch):\#(seq)","until":["\#(pattern)"],"timeoutMs":0}"#
                return try await client.ask(wait).string("resync")
            }
            #expect(try await resync(waitingFor: "ready", after: 999) == "evicted")
            // Of a state that it does not wait for nothing else is read.
            for pattern in ["!ready", "authentication"] {
                #expect(try await resync(waitingFor: pattern, after: 0) == nil)
            }

            try client.send(#"{"op":"watch","id":1,"since":"\#(epoch):0"}"#)
            let (changes, line) = try await client.changes()
            #expect(changes.map(\.seq) == Array(0..<changes.count).map { $0 + 1 })
            #expect(line.type == "state" && line.string("resync") == "evicted")
            #expect(line.int("missed") == 1500 - changes.count)
            #expect(try await client.ask("ping").seq == 1500)

            try Self.database(
                in: daemon.state,
                #"UPDATE change SET fromData = '{"value":true}' WHERE seq = 1000"#
            )
            let mended = try await Self.page(client, #","limit":10000"#)
            #expect(mended.reply.ok == true && mended.seqs == Array(1...1500))
        }
    }

    /// A client that asks for page after page reaches the end, and is told where changes are
    /// missing.
    @Test func whatIsMissingIsPassedOverAndAnnounced() async throws {
        try await DaemonProcess.run(changes: 1500) { daemon in
            try Self.database(in: daemon.state, "DELETE FROM change WHERE seq BETWEEN 700 AND 800")
            let client = try daemon.connect(\.control)
            let epoch = try await daemon.epoch()
            for (request, before, after) in [
                ("", Array(1...699), Array(801...1500)),
                (
                    #","only":["ready:value=false"]"#, Array(stride(from: 2, to: 700, by: 2)),
                    Array(stride(from: 802, through: 1500, by: 2))
                ),
                // No change comes before the gap.
                (
                    #","only":["ready:value=true"],"since":"\#(epoch):699""#, [],
                    Array(801...1500).filter { $0 % 2 == 1 }
                ),
            ] as [(String, [Int], [Int])] {
                if !before.isEmpty {
                    let page = try await Self.page(client, request)
                    #expect(page.seqs == before)
                    #expect(page.reply.bool("more") == true)
                    // No change has been missed yet, nor is the reader slow.
                    #expect(page.reply.string("resync") == nil)
                }
                let next =
                    before.last.map { request + #","since":"\#(epoch):\#($0)""# } ?? request
                let page = try await Self.page(client, next)
                #expect(page.seqs == after, "\(request)")
                #expect(page.reply.bool("more") == false)
                #expect(page.reply.string("resync") == "evicted")
            }
        }
    }

    @Test func whatTheDiskHasLostTheRingMayHave() async throws {
        try await DaemonProcess.run(changes: 1500) { daemon in
            try Self.database(in: daemon.state, "DELETE FROM change WHERE seq BETWEEN 700 AND 1490")
            let client = try daemon.connect(\.control)
            let since = #","since":"\#(try await daemon.epoch()):699""#
            let some = try await Self.page(client, since)
            #expect(some.seqs == Array(1437...1500))
            #expect(some.reply.string("resync") == "evicted")
            try Self.database(in: daemon.state, "DELETE FROM change WHERE seq >= 700")
            let same = try await Self.page(client, since)
            #expect(same.seqs == Array(1437...1500))
            #expect(same.reply.bool("more") == false)
            #expect(same.reply.string("resync") == "evicted")
        }
    }

    /// As when changes are removed between looking up the oldest and reading it.
    @Test func whoNamesNoPlaceBeginsWithTheOldestThatIsLeft() async throws {
        try await DaemonProcess.run(changes: 1500) { daemon in
            let client = try daemon.connect(\.control)
            for (removed, first) in [(100, 101), (1499, 1437)] {
                try Self.database(in: daemon.state, "DELETE FROM change WHERE seq <= \(removed)")
                let page = try await Self.page(client, #","limit":10000"#)
                #expect(page.seqs == Array(first...1500))
                #expect(page.reply.bool("more") == false)
                #expect(page.reply.string("resync") == nil)
            }
        }
    }

    /// One answer to `history`.
    private static func page(
        _ client: LineSocket,
        _ keys: String
    ) async throws -> (seqs: [Int], reply: JSONLine) {
        try client.send(#"{"op":"history","id":1\#(keys)}"#)
        let (changes, reply) = try await client.changes()
        return (changes.compactMap(\.seq), reply)
    }

    /// Has every new row of that table refused, until the trigger `refusal` is dropped.
    private static func refuse(in table: String, of daemon: DaemonProcess) throws {
        try self.database(
            in: daemon.state,
            """
            CREATE TRIGGER refusal BEFORE INSERT ON \(table)
            BEGIN SELECT RAISE(ABORT, 'no more'); END
            """
        )
    }

    /// Changes the daemon's database from another program.
    private static func database(in directory: String, _ sql: String) throws {
        try Database("\(directory)/statemachine.sqlite", timeout: .seconds(10)).execute(sql)
    }
}

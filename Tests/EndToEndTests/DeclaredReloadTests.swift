import Foundation
import Glibc
import Subprocess
import TestSupport
import Testing

/// SIGHUP to a daemon whose machine's file has been replaced.
@Suite(.bounded)
struct DeclaredReloadTests {
    private static let coffee = """
        machine: coffee
        version: 1
        start: idle
        events: {brew: {cups: integer}}
        states:
          idle: {when: {brew: brewing}}
          brewing:
            fields: {cups: {type: integer, min: 1, max: 8}, kind: {type: string, default: black}}
            after: {2h: idle}
          ready: {fields: {why: {type: string, default: none}}}
        """

    @Test
    func whoAsksForAReloadIsToldHowItWent() async throws {
        try await withReloadedMachine(Self.coffee) { machine, daemon in
            let client = try daemon.connect(\.control)
            func run() async throws -> (output: String, errors: String, status: TerminationStatus) {
                try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory, "reload"]
                )
            }
            try machine.write(Self.coffee.replacing("version: 1", with: "version: 2"))
            let done = try await run()
            #expect(done.status == .exited(0), "\(done.errors)")
            #expect(done.output.contains("declared by 2"))
            try machine.write(Self.coffee.replacing("start: idle", with: "start: idel\nx: 1"))
            let refused = try await run()
            #expect(refused.status == .exited(78) && refused.output.isEmpty)
            #expect(refused.errors.contains("there is no state \"idel\""))
            #expect(refused.errors.contains("x"))
            let answer = try await client.ask("reload")
            #expect(answer.error == "bad-file" && answer.has("problems"))
            #expect(try await client.ask("describe").string("declaration") != nil)
            let reader = try daemon.connect(\.events)
            _ = try await reader.next()
            #expect(try await reader.ask("reload").error == "forbidden")
        }
    }

    @Test(arguments: [false, true])
    func aRenamedStateIsOneChangeAndItsStayGoesOn(isDurable: Bool) async throws {
        try await withReloadedMachine(Self.coffee, isDurable: isDurable) { machine, daemon in
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            let client = try daemon.connect(\.control)
            let begun = try await client.ask("send brew cups=3")
            #expect(try await client.ask("update kind=white").int("stay") == 1)
            let newer = Self.coffee.replacing("version: 1", with: "version: 2")
                .replacing("brewing:", with: "making: {was: brewing,")
                .replacing("brewing", with: "making")
                .replacing("making: {was: making,", with: "making:\n    was: brewing")
                .replacing("2h", with: "3h")
            try await machine.reload(daemon, newer)
            #expect(try await watch.next().seq == 1)
            #expect(try await watch.next().seq == 2)
            let change = try await watch.next()
            #expect(change.type == "change" && change.seq == 3 && change.state == "making")
            #expect(change.item("from")?.state == "brewing")
            #expect(change.string("cause") == "declaration 2")
            #expect(change.int("stay") == 1)
            #expect(!change.has("by"))
            let declared = try await watch.next()
            #expect(declared.type == "declared" && declared.seq == 3)
            #expect(declared.string("version") == "2")
            #expect(declared.string("cursor") == change.string("cursor"))
            let described = try await client.ask("describe")
            #expect(described.string("declaration") == declared.string("declaration"))
            #expect(described.item("transitions")?.has("brewing") == false)
            let sum = try await runTool(.name("sha256sum"), [machine.file]).output.prefix(64)
            #expect(declared.string("declaration") == String(sum))

            // The deadline still counts from the same moment.
            let got = try await client.ask("get")
            #expect(got.item("data")?.string("kind") == "white")
            let (old, new) = (begun.item("due")?.string("at"), got.item("due")?.string("at"))
            let hour = try Self.seconds(from: #require(old), to: #require(new))
            #expect(hour == 3600)
            #expect(got.item("due")?.state == "idle")

            // A client that resumes is not sent `declared` again.
            let again = try daemon.connect(\.control)
            try again.send(#"{"op":"watch","since":"\#(try #require(begun.string("cursor")))"}"#)
            #expect(try await again.next().seq == 2)
            #expect(try await again.next().seq == 3)
            #expect(try await again.next().type == "live")
            #expect(try await client.ask("set brewing cups=1").error == "unknown-state")
            #expect(try await machine.end(daemon) == 0)
        }
    }

    private static func seconds(from old: String, to new: String) throws -> Int {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return Int((try style.parse(new)).timeIntervalSince(try style.parse(old)).rounded())
    }

    @Test
    func whatLooksTheSameIsNoChange() async throws {
        try await withReloadedMachine(Self.coffee, isDurable: true) { machine, daemon in
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            let client = try daemon.connect(\.control)
            _ = try await client.ask("set ready")
            // The same file is not another declaration.
            try await machine.reload(daemon)
            try await machine.reload(daemon, Self.coffee + "\n  steam: {}\n")
            #expect(try await watch.next().seq == 1)
            let declared = try await watch.next()
            #expect(declared.type == "declared" && declared.seq == 1)
            #expect(try await client.ask("set ready").bool("changed") == false)
            #expect(try await client.ask("set steam").seq == 2)
            #expect(try await watch.next().seq == 2)
            #expect(try await machine.end(daemon) == 0)
            #expect(try machine.column("SELECT seq FROM declaration ORDER BY id") == ["0", "1"])
            #expect(try machine.column("SELECT text FROM declaration LIMIT 1") == [Self.coffee])
        }
    }

    @Test
    func aDroppedStateRefusesTheReloadLoudly() async throws {
        try await withReloadedMachine(Self.coffee) { machine, daemon in
            let client = try daemon.connect(\.control)
            _ = try await client.ask("set ready")
            let dropped = """
                start: idle
                states: {idle: {}}
                lost: idle
                """
            let refusal = try await machine.refuse(daemon, dropped)
            let sentence = #"the state "ready" no longer exists; write "was: ready""#
            #expect(refusal.contains(sentence))
            try await daemon.wait(forErrors: sentence)
            try await daemon.wait(forErrors: "the reload was refused")
            #expect(try await client.ask("set ready why=x").seq == 2)
            #expect(try await client.ask("set brewing cups=1").seq == 3)
            // Once the machine has left the dropped state, the reload is not refused.
            _ = try await client.ask("set idle")
            try await machine.reload(daemon)
            #expect(try await client.ask("set ready").error == "unknown-state")
            // Every new watch changes the status.
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            var status = ""
            while !status.contains("1 watch") {
                status = try await machine.notify.wait(for: "STATUS=")
            }
            #expect(status == "STATUS=idle, seq 4, 1 watch")
            #expect(try await machine.end(daemon) == 0)
        }
    }

    @Test
    func aFileWithMistakesIsRefusedWithAllOfThem() async throws {
        try await withReloadedMachine(Self.coffee) { machine, daemon in
            let client = try daemon.connect(\.control)
            let refusal = try await machine.refuse(
                daemon,
                "start: on\nstates:\n  of: {to: [on], afer: {1s: of}}\n"
            )
            #expect(refusal.contains("; the reload was refused: \(machine.file):1:8: "))
            try await daemon.wait(forErrors: "\(machine.file):1:8: ")
            try await daemon.wait(forErrors: "\(machine.file):3:13: ")
            try await daemon.wait(forErrors: "\(machine.file):3:18: ")
            #expect(try await client.ask("set brewing cups=1").ok == true)

            try await machine.reload(
                daemon,
                Self.coffee.replacing("machine: coffee", with: "machine: tea")
            )
            try await daemon.wait(
                forErrors: #"declares the machine "tea", but this daemon serves "coffee""#
            )
            try FileManager.default.removeItem(atPath: machine.file)
            try await machine.reload(daemon)
            try await daemon.wait(forErrors: "cannot read \(machine.file)")
            #expect(try await client.ask("set ready").ok == true)
            #expect(try await machine.end(daemon) == 0)
        }
    }

    @Test
    func waitsForWhatIsGoneEnd() async throws {
        try await withReloadedMachine(Self.coffee) { machine, daemon in
            let gone = try daemon.connect(\.control)
            try gone.send(#"{"op":"wait","id":1,"until":["ready"]}"#)
            #expect(try await gone.ask("ping").ok == true)
            let some = try daemon.connect(\.control)
            try some.send(#"{"op":"wait","id":2,"until":["ready","steam"]}"#)
            // `steam` is not a state yet.
            #expect(try await some.next().error == "unknown-state")
            try some.send(#"{"op":"wait","id":3,"until":["ready","brewing"],"fail":["ready"]}"#)
            #expect(try await some.ask("ping").ok == true)
            let watch = try daemon.connect(\.control)
            _ = try await watch.ask(#"{"op":"watch","only":["ready"]}"#)
            try await machine.reload(daemon, Self.coffee.replacing("ready: ", with: "done: "))
            let ended = try await gone.next()
            #expect(ended.int("id") == 1 && ended.error == "unknown-state")
            #expect(ended.strings("known") == ["idle", "brewing", "done"])
            let client = try daemon.connect(\.control)
            let rows = try #require(try await client.ask("stats").items("connections"))
            #expect(rows.compactMap { $0.int("waits") }.reduce(0, +) == 1)
            _ = try await client.ask("set brewing cups=1")
            #expect(try await some.next().state == "brewing")
            #expect(try await watch.next().type == "declared")
            #expect(try await machine.end(daemon) == 0)
        }
    }

    @Test(arguments: [false, true])
    func whatAGuardHoldsUpIsEvaluatedAsTheNewFileSays(isDurable: Bool) async throws {
        try await withReloadedMachine(Self.coffee, isDurable: isDurable) { machine, daemon in
            let guardian = try daemon.connect(\.control)
            #expect(
                try await guardian.ask(#"{"op":"guard","before":["brewing"],"timeoutMs":60000}"#).ok
                    == true
            )
            let clients = try (0..<5).map { _ in try daemon.connect(\.control) }
            let lines = [
                "set brewing cups=6", "set ready", "send brew cups=2", "update cups=4", "set idle",
            ]
            try clients[0].send(lines[0])
            let first = try await guardian.next()
            #expect(first.item("to")?.item("data")?.int("cups") == 6)
            for (client, line) in zip(clients, lines).dropFirst() {
                try client.send(line)
                // So that it is queued before the next.
                let ping = try await daemon.connect(\.control).ask("ping")
                #expect(ping.ok == true)
            }
            let newer = Self.coffee.replacing("max: 8", with: "max: 4")
                .replacing(
                    "ready: {fields: {why: {type: string, default: none}}}",
                    with: "done: {}"
                )
                .replacing("default: black", with: "default: white")
            try await machine.reload(daemon, newer)
            // The first set is evaluated again, and its question has been dropped.
            let far = try await clients[0].next()
            #expect(far.error == "bad-data" && far.string("message") == "cups=6: must be at most 4")
            #expect(try await clients[1].next().error == "unknown-state")
            let second = try await guardian.next()
            #expect(second.type == "ask")
            #expect(second.item("to")?.item("data")?.int("cups") == 2)
            #expect(second.item("to")?.item("data")?.string("kind") == "white")
            let late = try await guardian.ask(
                #"{"op":"vote","ask":\#(first.int("ask") ?? 0),"allow":true}"#
            )
            #expect(late.error == "not-found")
            try guardian.send(#"{"op":"vote","ask":\#(second.int("ask") ?? 0),"allow":true}"#)
            let brewing = try await clients[2].next()
            #expect(brewing.seq == 1 && brewing.state == "brewing")
            #expect(try await clients[3].next().seq == 2)
            #expect(try await clients[4].next().seq == 3)
            #expect(try await machine.end(daemon) == 0)
        }
    }

    @Test(arguments: [false, true])
    func aCrowdLosesNothingBesideAFastSetter(isDurable: Bool) async throws {
        let rounds = 1500
        try await withReloadedMachine(Self.coffee, isDurable: isDurable) { machine, daemon in
            let subscribers = try await Subscribers(100, at: daemon.events)
            let client = try daemon.connect(\.control)
            let second = Self.coffee + "\n  steam: {}\n"
            let third = second.replacing("brewing", with: "making")
                .replacing("  making:\n", with: "  making:\n    was: brewing\n")
            _ = try await client.ask("set brewing cups=1")
            let reading = Task { [last = rounds + 2] in
                let epoch = try await daemon.connect(\.control).ask("get").string("cursor")?
                    .split(separator: ":").first.map { String($0) }
                return try await subscribers.readAll(
                    upTo: "\"cursor\":\"\(epoch ?? "?"):\(last)\"}\n"
                )
            }
            var name = "brewing"
            var refused = 0
            for round in 1...rounds {
                if round == rounds / 3 {
                    try machine.write(second)
                    daemon.send(SIGHUP)
                }
                if round == rounds * 2 / 3 {
                    try await machine.notify.wait(for: "RELOADING=1")
                    try await machine.notify.wait(for: "READY=1")
                    try machine.write(third)
                    daemon.send(SIGHUP)
                }
                var reply = try await client.ask("set \(name) cups=\(round % 2 + 2)")
                if reply.error == "unknown-state" {
                    refused += 1
                    name = "making"
                    reply = try await client.ask("set \(name) cups=\(round % 2 + 2)")
                }
                #expect(reply.bool("changed") == true, "\(reply)")
            }
            try await machine.notify.wait(for: "RELOADING=1")
            try await machine.notify.wait(for: "READY=1")
            #expect(refused == 1)
            let lines = try String(decoding: await reading.value, as: UTF8.self)
                .split(separator: "\n").map { try JSONLine(String($0)) }
            // Each set, the first one, and the change that the second reload makes.
            let changes = lines.filter { $0.type == "change" }
            #expect(changes.map(\.seq) == Array(1...rounds + 2))
            let own = changes.filter { !$0.has("by") }
            #expect(own.count == 1 && own[0].item("from")?.state == "brewing")
            #expect(own[0].state == "making")
            #expect(lines.filter { $0.type == "declared" }.count == 2)
            // Each line comes where its declaration takes effect.
            let at = lines.indices.filter { lines[$0].type == "declared" }
            for index in at { #expect(lines[index - 1].seq == lines[index].seq) }
            #expect(lines.count == rounds + 4)
            for index in lines.indices where lines[index].type == "change" {
                let isNew = lines[index].seq ?? 0 >= own[0].seq ?? 0
                #expect(lines[index].state == (isNew ? "making" : "brewing"))
            }
            #expect(try await machine.end(daemon) == 0)
        }
    }
}

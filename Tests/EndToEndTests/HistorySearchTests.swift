import Foundation
import Subprocess
import TestSupport
import Testing

/// Searches of the past, from the ring and from the database.
@Suite(.bounded)
struct HistorySearchTests {
    private struct Case: Sendable {
        let keys: String
        let seqs: [Int]
        var more = false
        var resync: String?
    }

    /// Runs `body` with a daemon that has made 20 changes: the ring has the last 16, its history
    /// all.
    private func run(
        durably isDurable: Bool,
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let history = isDurable ? ["--state-directory", "\(directory)/state"] : ["--ephemeral"]
            let ended = try await DaemonProcess.run(
                in: directory,
                arguments: ["--ring-changes", "16"] + history
            ) { daemon in
                let setter = try daemon.connect(\.control)
                for number in 1...20 {
                    let state =
                        number % 4 == 0
                        ? #""authentication","data":{"phase":"active"}"#
                        : #""ready","data":{"value":\#(number % 2 == 1)}"#
                    let reply = try await setter.ask(
                        #"{"op":"set","state":\#(state),"cause":"step \#(number)"}"#
                    )
                    #expect(reply.seq == number)
                }
                try await body(daemon)
            }
            #expect(ended.status == .exited(0))
        }
    }

    /// The niceness and the policy of its thread of that name, as proc(5) has them.
    private func priority(of name: String, in daemon: DaemonProcess) throws -> [Substring] {
        let tasks = "/proc/\(daemon.pid)/task"
        let threads = try FileManager.default.contentsOfDirectory(atPath: tasks).map { task in
            try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)
        }
        let thread = try #require(threads.first { $0.contains(" (\(name)) ") })
        let fields = thread.split(separator: " ")
        return [fields[18], fields[40]]
    }

    /// By 10, and as one that uses up its time (`SCHED_BATCH`).
    @Test
    func theThreadThatReadsTheHistoryGivesWayToTheOthers() async throws {
        try await self.run(durably: true) { daemon in
            let client = try daemon.connect(\.control)
            #expect(try await client.ask(#"{"op":"history","after":19}"#).type == "change")
            let (writer, reader) = (
                try self.priority(of: "sm-history", in: daemon),
                try self.priority(of: "sm-reads", in: daemon)
            )
            #expect(writer == ["0", "0"] && reader == ["10", "3"])
        }
    }

    private func expect(_ cases: [Case], of daemon: DaemonProcess) async throws {
        let client = try daemon.connect(\.control)
        for one in cases {
            try client.send(#"{"op":"history","id":"h"\#(one.keys)}"#)
            var seqs: [Int] = []
            var line = try await client.next()
            while line.type == "change" {
                seqs.append(line.seq ?? -1)
                #expect(line.string("id") == "h" && line.bool("replay") == true)
                #expect(line.string("cause") == "step \(line.seq ?? -1)")
                line = try await client.next()
            }
            #expect(seqs == one.seqs, "\(one)")
            #expect(line.type == "reply" && line.int("count") == one.seqs.count, "\(one)")
            #expect(line.bool("more") == one.more, "\(one)")
            #expect(line.string("resync") == one.resync, "\(one)")
        }
    }

    @Test(arguments: [true, false])
    func ordersAndPlacesAreTaken(isDurable: Bool) async throws {
        try await self.run(durably: isDurable) { daemon in
            let epoch = try await daemon.epoch()
            let first = isDurable ? 1 : 5
            let uid = getuid()
            try await self.expect(
                [
                    Case(keys: #","order":"newest""#, seqs: (first...20).reversed()),
                    Case(keys: #","order":"newest","limit":3"#, seqs: [20, 19, 18], more: true),
                    Case(keys: #","order":"newest","limit":0"#, seqs: [], more: true),
                    Case(
                        keys: #","order":"newest","before":"\#(epoch):18","limit":2"#,
                        seqs: [17, 16],
                        more: true
                    ),
                    Case(keys: #","order":"newest","after":17"#, seqs: [20, 19, 18]),
                    Case(keys: #","after":17"#, seqs: [18, 19, 20]),
                    Case(keys: #","after":17,"before":20"#, seqs: [18, 19]),
                    Case(keys: #","after":17,"before":18"#, seqs: []),
                    Case(keys: #","after":20"#, seqs: []),
                    Case(keys: #","after":4000"#, seqs: []),
                    Case(keys: #","before":0"#, seqs: []),
                    Case(keys: #","before":\#(first + 1)"#, seqs: [first]),
                    Case(keys: #","since":"\#(epoch):17","order":"newest""#, seqs: [20, 19, 18]),
                    Case(
                        keys: #","since":"x","order":"newest","limit":1"#,
                        seqs: [20],
                        more: true,
                        resync: "unknown"
                    ),
                    Case(
                        keys: #","only":"authentication","order":"newest""#,
                        seqs: isDurable ? [20, 16, 12, 8, 4] : [20, 16, 12, 8]
                    ),
                    Case(
                        keys: #","only":"!ready","order":"newest","limit":2"#,
                        seqs: [20, 16],
                        more: true
                    ),
                    Case(keys: #","by":\#(uid),"after":18"#, seqs: [19, 20]),
                    Case(keys: #","by":\#(uid + 1)"#, seqs: []),
                    Case(keys: #","cause":"ep 1","after":15"#, seqs: [16, 17, 18, 19]),
                    Case(keys: #","cause":"step 12","order":"newest""#, seqs: [12]),
                    Case(keys: #","cause":"STEP""#, seqs: []),
                    Case(keys: #","before":"2001-01-01T00:00:00Z""#, seqs: []),
                    Case(keys: #","after":"2100-01-01T00:00:00+02:00","order":"newest""#, seqs: []),
                    Case(
                        keys: #","after":"2001-01-01T00:00:00Z","limit":1"#,
                        seqs: [first],
                        more: true
                    ),
                ],
                of: daemon
            )
            if !isDurable {
                try await self.expect(
                    [
                        Case(
                            keys: #","after":1,"order":"newest","limit":1"#,
                            seqs: [20],
                            more: true,
                            resync: "evicted"
                        )
                    ],
                    of: daemon
                )
            }
        }
    }

    @Test(arguments: [true, false])
    func aTimeIsBetweenTheChangesBeforeAndAfterIt(isDurable: Bool) async throws {
        try await self.run(durably: isDurable) { daemon in
            let client = try daemon.connect(\.control)
            try client.send(#"{"op":"history","after":6}"#)
            var times: [Int: String] = [:]
            while case let line = try await client.next(), line.type == "change" {
                times[line.seq ?? 0] = line.string("at")
            }
            for seq in [7, 10, 20] {
                let time = try #require(times[seq])
                // Two changes may have been made in the same microsecond.
                let same = times.filter { $0.value == time }.keys.sorted()
                let earliest = try #require(same.first)
                try await self.expect(
                    [
                        Case(keys: #","after":"\#(time)""#, seqs: Array(earliest...20)),
                        Case(keys: #","after":6,"before":"\#(time)""#, seqs: Array(7..<earliest)),
                        Case(
                            keys: #","after":"\#(time)","order":"newest""#,
                            seqs: (earliest...20).reversed()
                        ),
                    ],
                    of: daemon
                )
            }
        }
    }

    @Test
    func aCursorOfElsewhereIsRefused() async throws {
        try await self.run(durably: false) { daemon in
            let client = try daemon.connect(\.control)
            let refused = try await client.ask(#"{"op":"history","before":"abcd:3"}"#)
            #expect(refused.error == "bad-request")
            #expect(refused.string("message")?.contains("another epoch") == true)
        }
    }

    @Test(arguments: [true, false])
    func theToolShowsWhatHasJustHappened(isDurable: Bool) async throws {
        try await self.run(durably: isDurable) { daemon in
            let cases: [([String], [Int])] = [
                (["-n", "2"], [20, 19]),
                (["-n", "2", "--oldest-first", "--since", "17"], [18, 19]),
                (["--since", "#18"], [20, 19]),
                (["--since", "17", "--until", "20"], [19, 18]),
                (["--since", "1h", "-n", "1"], [20]),
                (["--until", "1h"], []),
                (["--until", "2001-01-01"], []),
                (["--since", "2001-01-01 12:30", "-n", "1"], [20]),
                (["--cause", "step 2", "-n", "all"], isDurable ? [20, 2] : [20]),
                (["--by", "\(getuid())", "-n", "1"], [20]),
                (["!ready", "-n", "2"], [20, 16]),
            ]
            for (words, seqs) in cases {
                let ended = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory, "--json", "history"] + words
                )
                #expect(ended.status == .exited(0), "\(ended.errors)")
                let found = try ended.output.split(separator: "\n").dropLast()
                    .map { try JSONLine(String($0)).seq ?? -1 }
                #expect(found == seqs, "\(words)")
            }
        }
    }

    @Test(arguments: [
        (["--since", "yesterdya"], "--since is neither a time nor a change: \"yesterdya\""),
        (["--since", "25:00"], "--since is neither a time nor a change"),
        (["--since", "22:99"], "--since is neither a time nor a change"),
        (["--until", "2026-02-30"], "--until is neither a time nor a change"),
        (["--until", "abcd:3"], "another epoch"),
        (["-n", "0"], "'-n <n>'"),
        (["-f", "--until", "1h"], "-f and --until cannot be used together"),
        (["rady"], "did you mean ready?"),
    ])
    func whatCannotBeReadIsAnError(words: [String], sentence: String) async throws {
        try await self.run(durably: false) { daemon in
            let ended = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory, "history"] + words
            )
            #expect(ended.status == .exited(2))
            #expect(ended.output == "")
            #expect(ended.errors.contains(sentence), "\(ended.errors)")
        }
    }

    @Test
    func itGoesOnWithWhatHappens() async throws {
        try await self.run(durably: true) { daemon in
            let words = ["history", "-f", "-n", "2", "--cause", "step", "ready"]
            let status = try await daemon.withStatectl(words) { statectl in
                #expect(try await statectl.next().contains("  #18 "))
                #expect(try await statectl.next().contains("  #19 "))
                let setter = try daemon.connect(\.control)
                _ = try await setter.ask("set authentication idle")
                _ = try await setter.ask("set ready true")
                _ = try await setter.ask(
                    #"{"op":"set","state":"ready","data":{"value":false},"cause":"one step more"}"#
                )
                let line = try await statectl.next()
                #expect(line.contains("  #23 ") && line.contains("one step more"), "\(line)")
                try statectl.send(.terminate)
            }
            #expect(status == .signaled(SIGTERM) || status == .exited(143))
        }
    }
}

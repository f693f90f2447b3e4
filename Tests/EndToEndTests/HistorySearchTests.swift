import Foundation
import Subprocess
import TestSupport
import Testing

/// Searches of the past, from the ring and from the database.
@Suite(.bounded) struct HistorySearchTests {
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
        try await DaemonProcess.run("--ring-changes", "16", isDurable: isDurable) { daemon in
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
    @Test func theThreadThatReadsTheHistoryGivesWayToTheOthers() async throws {
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
            let (changes, line) = try await client.changes()
            for change in changes {
                #expect(change.string("id") == "h" && change.bool("replay") == true)
                #expect(change.string("cause") == "step \(change.seq ?? -1)")
            }
            #expect(changes.map(\.seq) == one.seqs, "\(one)")
            #expect(line.type == "reply" && line.int("count") == one.seqs.count, "\(one)")
            #expect(line.bool("more") == one.more, "\(one)")
            #expect(line.string("resync") == one.resync, "\(one)")
        }
    }

    @Test(arguments: [true, false])
    func aTimeIsBetweenTheChangesBeforeAndAfterIt(isDurable: Bool) async throws {
        try await self.run(durably: isDurable) { daemon in
            let client = try daemon.connect(\.control)
            try client.send(#"{"op":"history","after":6}"#)
            var times: [Int: String] = [:]
            for line in try await client.changes().changes {
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

    @Test func itGoesOnWithWhatHappens() async throws {
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

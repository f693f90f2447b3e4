import Foundation
import Subprocess
import Synchronization
import TestSupport
import Testing

/// Clients that count in one field, over a death of the daemon.
@Suite(.bounded) struct CountingTests {
    private static let clients = 8
    private static let end = 2_000

    private static let machine = """
        start: counting
        states: {counting: {fields: {tries: {type: integer, default: 0, max: \(end)}}}}
        """

    @Test func eightClientsThatCountLoseNoneThatWasAnswered() async throws {
        try await withTemporaryDirectory { directory in
            let run = { (body: @escaping @Sendable (DaemonProcess) async throws -> Void) in
                try await DaemonProcess.run(
                    in: directory,
                    machine: Self.machine,
                    isDurable: true,
                    arguments: ["--log-level", "error"],
                    body
                )
            }
            let counts = Recorder<Int>()
            let killed = try await run { daemon in
                try await Self.count(at: daemon, counts) { count in
                    if count == Self.end / 2 { try daemon.send(.kill) }
                }
            }
            #expect(killed.status == .signaled(SIGKILL))
            let ended = try await run { daemon in
                try await Self.count(at: daemon, counts) { _ in }
                let last = try await daemon.ask(\.control, "get")
                #expect(last.item("data")?.int("tries") == Self.end)
                #expect(last.seq == Self.end)
            }
            #expect(ended.status == .exited(0))
            // One that is lost is counted, and answered, again.
            let answered = counts.heard
            #expect(Set(answered).count == answered.count)
            // What was on the disk and not answered when the daemon died.
            #expect(answered.count >= Self.end - Self.clients)
        }
    }

    /// Counts with all clients, until the field's limit is reached or the daemon has died.
    private static func count(
        at daemon: DaemonProcess,
        _ counts: Recorder<Int>,
        _ answered: @escaping @Sendable (Int) throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.clients {
                group.addTask {
                    try await blocking {
                        let socket = try LineSocket(connectingTo: daemon.control)
                        while true {
                            guard (try? socket.send(#"{"op":"update","add":{"tries":1}}"#)) != nil,
                                let text = (try? socket.readLine()).flatMap({ $0 })
                            else { return }
                            let line = try JSONLine(text)
                            guard line.error != "bad-data" else { return }
                            guard let count = line.item("data")?.int("tries") else {
                                throw TestFailure("an update was answered \(text)")
                            }
                            counts.record(count)
                            try answered(count)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

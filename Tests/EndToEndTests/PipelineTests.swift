import TestSupport
import Testing

/// Requests that wait for sets on their way to the disk.
@Suite(.timeLimit(.minutes(5)))
struct PipelineTests {
    /// So small a ring is half full, and everybody is written to, in the middle of a turn.
    @Test
    func whoeverWaitsForTheDiskIsReadAgain() async throws {
        try await withTemporaryDirectory { directory in
            let state = ["--state-directory", "\(directory)/state", "--log-level", "error"]
            _ = try await DaemonProcess.run(
                in: directory,
                arguments: state + ["--ring-changes", "8"]
            ) { daemon in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for sets in 1...8 {
                        let client = try daemon.connect(\.control)
                        group.addTask {
                            for _ in 1...50 { try await Self.round(of: sets, client) }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    private static func round(of sets: Int, _ client: LineSocket) async throws {
        let line = #"{"op":"set","state":"ready","data":{"value":true},"reenter":true}"# + "\n"
        try client.send(raw: String(repeating: line, count: sets) + "ping\n")
        for _ in 1...sets { #expect(try await client.next().bool("changed") == true) }
        let last = try await client.next()
        #expect(last.ok == true && !last.has("changed"))
    }
}

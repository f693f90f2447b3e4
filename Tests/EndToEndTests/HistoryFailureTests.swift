import GRDB
import TestSupport
import Testing

/// A history that does not take what it is given, which is the daemon's own trouble: `internal`.
@Suite(.timeLimit(.minutes(2)))
struct HistoryFailureTests {
    @Test
    func aSetThatCannotBeWrittenIsRefusedAndTheConnectionGoesOn() async throws {
        try await withTemporaryDirectory { directory in
            let state = "\(directory)/state"
            let arguments = ["--state-directory", state, "--log-level", "critical"]
            _ = try await DaemonProcess.run(in: directory, arguments: arguments) { daemon in
                let watcher = try daemon.connect(\.events)
                let setter = try daemon.connect(\.control)
                #expect(try await setter.ask("set ready value=true").seq == 1)
                try Self.database(
                    in: state,
                    """
                    CREATE TRIGGER refusal BEFORE INSERT ON change
                    BEGIN SELECT RAISE(ABORT, 'no more'); END
                    """
                )

                let refusal = try await setter.ask(
                    #"{"op":"set","id":7,"state":"authentication","data":{"phase":"active"}}"#
                )
                #expect(refusal.type == "reply")
                #expect(refusal.int("id") == 7)
                #expect(refusal.ok == false)
                #expect(refusal.error == "internal")
                let message = try #require(refusal.string("message"))
                #expect(message.contains("could not be made durable"))
                #expect(message.contains("\(state)/statemachine.sqlite"))
                #expect(message.contains("no more"))
                // Nothing has changed, and the refusal says where it stands.
                #expect(refusal.seq == 1)
                #expect(refusal.state == "ready")
                #expect(try await setter.ask("ping").seq == 1)
                #expect(try await setter.ask("get").state == "ready")

                try Self.database(in: state, "DROP TRIGGER refusal")
                let reply = try await setter.ask("set dataRetrieval phase=active")
                #expect(reply.ok == true)
                #expect(reply.seq == 2)
                // Of the one between nobody was told.
                let lines = [
                    try await watcher.next(), try await watcher.next(), try await watcher.next(),
                ]
                #expect(lines.map(\.type) == ["state", "change", "change"])
                #expect(lines.map(\.seq) == [0, 1, 2])
                #expect(lines.map(\.state) == ["ready", "ready", "dataRetrieval"])
            }
        }
    }

    /// Another program at the daemon's database.
    private static func database(in directory: String, _ sql: String) throws {
        let queue = try DatabaseQueue(path: "\(directory)/statemachine.sqlite")
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    }
}

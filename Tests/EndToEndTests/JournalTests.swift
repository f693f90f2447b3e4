import Foundation
import Glibc
import TestSupport
import Testing

/// Entries with fields, at a journal's socket that the test owns.
@Suite(.timeLimit(.minutes(5)))
struct JournalTests {
    /// Puts the socket where the journal's is: in a mount namespace, which takes root.
    private func journalled(
        _ body: @escaping @Sendable (ActivatedDaemon, NotifySocket) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory)
            let journal = try NotifySocket(in: directory, name: "socket")
            let script = """
                mount -t tmpfs tmpfs /run && mkdir /run/systemd \
                && ln -s "$0" /run/systemd/journal && exec "$@"
                """
            let daemon = try ActivatedDaemon(
                in: directory,
                notify: notify,
                command: ["unshare", "--mount", "/bin/sh", "-c", script, directory],
                logsToJournal: true
            )
            try await notify.wait(for: "READY=1")
            try await body(daemon, journal)
            daemon.send(SIGTERM)
            let ended = try await daemon.ended()
            #expect(ended.status == 0)
            #expect(ended.errors.isEmpty)
        }
    }

    @Test(.enabled(if: getuid() == 0, "a mount namespace takes root"))
    func aTransitionIsAnEntryWithFields() async throws {
        try await self.journalled { daemon, journal in
            let client = try daemon.connect(\.control)
            _ = try await client.ask(
                #"{"op":"set","state":"authentication","data":{"phase":"active"},"cause":"a\nb"}"#
            )
            let entry = try await journal.wait(containing: "STATEMACHINE_SEQ=1\n")
            let lines = entry.split(separator: "\n")
            for expected in [
                "PRIORITY=6",
                "SYSLOG_IDENTIFIER=statemachine",
                "STATEMACHINE_STATE=authentication(phase: active)",
                "STATEMACHINE_FROM=ready(false)",
                "STATEMACHINE_BY=uid 0 pid \(getpid())",
                #"STATEMACHINE_CAUSE="a\nb""#,
            ] { #expect(lines.contains { $0 == expected }, "\(entry)") }
            #expect(entry.contains("MESSAGE=transition by=uid 0"))

            let id = try #require(lines.first { $0.hasPrefix("MESSAGE_ID=") }).dropFirst(11)
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../systemd/statemachine.catalog")
            let catalog = try String(contentsOf: file, encoding: .utf8)
            #expect(catalog.contains("-- \(id)\nSubject: The state is now"))
        }
    }
}

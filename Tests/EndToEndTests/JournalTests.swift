import Foundation
import Glibc
import TestSupport
import Testing

/// Log entries with fields, at a journal socket that the test owns.
@Suite(.bounded) struct JournalTests {
    /// Puts the test's socket where the journal's is, in a mount namespace, which takes root.
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
            let comm = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
            let entry = try await journal.wait(containing: "STATEMACHINE_SEQ=1\n")
            let lines = entry.split(separator: "\n")
            for expected in [
                "PRIORITY=6",
                "SYSLOG_IDENTIFIER=statemachine",
                "STATEMACHINE_STATE=authentication(phase: active)",
                "STATEMACHINE_FROM=ready(false)",
                "STATEMACHINE_BY=uid 0 pid \(getpid())",
                #"STATEMACHINE_CAUSE="a\nb""#,
                "STATEMACHINE_COMM=\"\(comm.dropLast())\"",
            ] { #expect(lines.contains { $0 == expected }, "\(entry)") }
            #expect(entry.contains("MESSAGE=transition by=uid 0"))

            let id = try #require(lines.first { $0.hasPrefix("MESSAGE_ID=") }).dropFirst(11)
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../systemd/statemachine.catalog")
            let catalog = try String(contentsOf: file, encoding: .utf8)
            #expect(catalog.contains("-- \(id)\nSubject: The state is now"))
        }
    }

    /// However many there are, at the installed log level: the journal takes ten thousand entries
    /// in half a minute and drops the rest.
    @Test(.enabled(if: getuid() == 0, "a mount namespace takes root"))
    func aBurstIsAFewEntriesAndSaysWhatTheOthersWere() async throws {
        try await self.journalled { daemon, journal in
            let client = try daemon.connect(\.control)
            for burst in 0..<20 {
                let sets = (1...500).map { "set ready value=\($0.isMultiple(of: 2))\n" }
                try client.send(raw: "set authentication phase=idle\n" + sets.joined())
                for number in 1...501 {
                    #expect(try await client.next().seq == burst * 501 + number)
                }
            }
            let entries = try await journal.all(until: "\nSTATEMACHINE_SEQ=10020\n")
                .filter { $0.contains("MESSAGE=transition") }
            // At twenty-one entries a second, a thousand would take the better part of a minute.
            #expect(entries.count < 1000)
            var last = 0
            for entry in entries {
                let fields = Self.fields(of: entry)
                let seq = try #require(fields["STATEMACHINE_SEQ"].flatMap { Int($0) })
                let count = Int(fields["STATEMACHINE_COUNT"] ?? "1")
                #expect(last + (count ?? 0) == seq)
                if count != 1 { #expect(fields["STATEMACHINE_FIRST"] == "\(last + 1)") }
                last = seq
            }
            let state = Self.fields(of: entries.last ?? "")["STATEMACHINE_STATE"]
            #expect(state == "ready(true)")
        }
    }

    private static func fields(of entry: String) -> [Substring: String] {
        let pairs = entry.split(separator: "\n").compactMap { line -> (Substring, String)? in
            let parts = line.split(separator: "=", maxSplits: 1)
            return parts.count == 2 ? (parts[0], String(parts[1])) : nil
        }
        return Dictionary(pairs) { first, _ in first }
    }
}

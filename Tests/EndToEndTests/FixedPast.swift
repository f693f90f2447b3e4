import Foundation
import StateMachineSQLite
import Subprocess
import TestSupport
import Testing

/// A lamp with a fixed past, and views of it that are compared with files.
enum FixedPast {
    /// 2026-03-01T12:00:00Z, in seconds.
    private static let start: Int64 = 1_772_366_400

    /// Text that is hostile to a terminal, to XML and to memory.
    static let hostile = "\u{1B}]0;x\u{7}\u{1B}[2J<script>alert(1)</script>&\"'\u{202E}"

    /// A change: seconds after the start, the state with its data, the stay it continues, who and
    /// why.
    private struct Change {
        let after: Double
        let state: String
        var data = "{}"
        var stay: Int?
        var uid: Int?
        var cause: String?
    }

    private static let changes = [
        Change(after: 0, state: "dim", data: #"{"level":20}"#, uid: 0, cause: "somebody came"),
        Change(after: 600, state: "dim", data: #"{"level":60}"#, stay: 1, uid: 0),
        Change(after: 1800, state: "dark", cause: "after 30min"),
        Change(after: 3600, state: "bright", uid: 0, cause: "a flash"),
        Change(after: 3600.25, state: "dark", uid: 4_294_967_290),
        Change(after: 3601, state: "bright", uid: 0, cause: Self.hostile),
        Change(after: 9000, state: "dark", uid: 0),
        Change(after: 10_000, state: "dim", data: #"{"level":20}"#, uid: 0),
    ]

    private static let machine = """
        machine: lamp
        start: dark
        events: {press: {}, move: {}}
        states:
          dark: {when: {press: bright, move: dim}, to: [bright]}
          dim:
            fields: {level: {type: integer, min: 1, max: 100, default: 20}}
            when: {press: bright, move: stay}
            after: {400d: dark}
            to: [dark]
          bright: {when: {press: dark}, to: [dark, broken]}
          broken: {final: true, to: []}
        """

    /// Runs `body` with a daemon that has that past.
    static func run(_ body: @escaping @Sendable (DaemonProcess) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            for isLater in [false, true] {
                if isLater { try Self.write(to: "\(directory)/state/statemachine.sqlite") }
                let ended = try await DaemonProcess.run(
                    in: directory,
                    machine: Self.machine,
                    isDurable: true,
                    arguments: ["--keep-days", "36500", "--log-level", "error"]
                ) { if isLater { try await body($0) } }
                #expect(ended.status == .exited(0))
            }
        }
    }

    private static func write(to path: String) throws {
        let database = try Database(path)
        try database.transaction(.writing) {
            var before = ("dark", "{}")
            for (index, change) in Self.changes.enumerated() {
                try database.run(
                    """
                    INSERT INTO change
                        (seq, at, state, data, fromState, fromData, uid, pid, cause, stay)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    index + 1,
                    Self.start * 1_000_000 + Int64(change.after * 1_000_000),
                    change.state,
                    change.data,
                    before.0,
                    before.1,
                    change.uid,
                    change.uid.map { _ in 4711 },
                    change.cause,
                    change.stay
                )
                before = (change.state, change.data)
            }
        }
    }
}

/// Compares a text with a file beside the tests.
func expectGolden(_ text: String, _ name: String) throws {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name)")
    if ProcessInfo.processInfo.environment["WRITE_GOLDEN"] != nil {
        try text.write(to: url, atomically: false, encoding: .utf8)
    }
    let golden = try String(contentsOf: url, encoding: .utf8)
    #expect(text == golden, "\(name); WRITE_GOLDEN=1 writes it anew")
}

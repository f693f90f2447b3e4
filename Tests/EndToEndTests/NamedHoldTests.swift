import Foundation
import StateMachineSQLite
import TestSupport
import Testing

/// Holds that belong to no connection, over starts of the built daemon.
@Suite(.bounded) struct NamedHoldTests {
    private static let freeze = #"{"op":"hold","before":["ready"],"as":"freeze","untilMs":3600000}"#

    /// Starts the daemon again after a hold was changed in its history; returns what the second start logs.
    private static func restarted(after change: String) async throws -> String {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                let reply = try await daemon.ask(\.control, Self.freeze)
                #expect(reply.ok == true)
            }
            do {
                let history = try Database("\(directory)/state/statemachine.sqlite")
                try history.execute(change)
            }
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                let isHeld = try await daemon.ask(\.control, "stats").has("holds")
                let denied = try await daemon.ask(\.control, "set ready value=true")
                #expect(isHeld == (denied.error == "denied"), "\(denied)")
            }
            return try String(contentsOfFile: "\(directory)/stderr", encoding: .utf8)
        }
    }

    @Test func theLogSaysThatAHoldExpiredWhileNoDaemonRan() async throws {
        let log = try await Self.restarted(after: "UPDATE kept SET until = since")
        let line = log.split(separator: "\n").last { $0.contains("a hold has expired") }
        #expect(line?.contains("as=freeze") == true, "\(log)")
    }
}

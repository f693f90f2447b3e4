import Foundation
import TestSupport
import Testing

/// Bad input gets an answer, and the connection goes on: the sessions show how.
@Suite(.bounded)
struct BadInputTests {
    /// Each code is in a session, except `internal`, the daemon's own trouble, which no line can cause
    /// (``HistoryFailureTests``).
    @Test
    func everyErrorCodeIsShown() async throws {
        let directory = URL(filePath: #filePath).appending(path: "../Fence").standardized
        let sessions = try FileManager.default
            .contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "session" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        let shown = Set(sessions.matches(of: /"ok":false,"error":"([a-z-]+)"/).map { String($0.1) })
        try await DaemonProcess.run { daemon in
            let codes = try await daemon.ask(\.control, "describe").strings("errors")
            #expect(Set(try #require(codes)).subtracting(shown) == ["internal"])
        }
    }
}

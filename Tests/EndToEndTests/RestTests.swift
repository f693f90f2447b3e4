import Foundation
import TestSupport
import Testing

/// What the daemon does when there is nothing to do.
@Suite(.timeLimit(.minutes(2)))
struct RestTests {
    /// The kernel shows what a timer has left to run; 0 is one that is not set.
    @Test
    func atRestNoTimerRuns() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.events)
            #expect(try await watcher.next().seq == 0)
            #expect(try await daemon.ask(\.control, "set ready value=true").seq == 1)
            #expect(try await watcher.next().seq == 1)
            // Start-up leaves one that ends after a second.
            while try !daemon.runningTimers().isEmpty {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}

extension DaemonProcess {
    /// How each timer that is set shows its time.
    fileprivate func runningTimers() throws -> [Substring] {
        let directory = "/proc/\(self.pid)/fdinfo"
        return try FileManager.default.contentsOfDirectory(atPath: directory).flatMap { name in
            // Gone, if the descriptor has been closed since.
            let info = try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
            return (info ?? "").split(separator: "\n")
                .filter { $0.hasPrefix("it_value:") && $0 != "it_value: (0, 0)" }
        }
    }
}

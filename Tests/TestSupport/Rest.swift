import Foundation
package import Glibc

/// Waits until no timer runs in that process; for ever, and so past the test's limit, if one is set again and again.
package func comesToRest(_ pid: pid_t) async throws {
    // One that fires periodically is seen unset only in the moment in which it is set again.
    var unset = 0
    while unset < 10 {
        unset = try runningTimers(of: pid).isEmpty ? unset + 1 : 0
        try await Task.sleep(for: .milliseconds(20))
    }
}

/// The remaining time of each timer that is set, as the kernel shows it; 0 means that it is not set.
private func runningTimers(of pid: pid_t) throws -> [Substring] {
    let directory = "/proc/\(pid)/fdinfo"
    return try FileManager.default.contentsOfDirectory(atPath: directory).flatMap { name in
        // Nil if the descriptor has been closed since.
        let info = try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
        return (info ?? "").split(separator: "\n")
            .filter { $0.hasPrefix("it_value:") && $0 != "it_value: (0, 0)" }
    }
}

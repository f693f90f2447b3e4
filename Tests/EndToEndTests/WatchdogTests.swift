import Glibc
import TestSupport
import Testing

/// WATCHDOG=1, for a manager that asks for it.
@Suite(.bounded)
struct WatchdogTests {
    @Test
    func theManagerHearsThatItIsAliveUnlessItIsStopped() async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory)
            let daemon = try ActivatedDaemon(
                in: directory,
                notify: notify,
                environment: ["WATCHDOG_USEC": "100000"]
            )
            for _ in 0..<3 { try await notify.wait(for: "WATCHDOG=1") }
            daemon.send(SIGSTOP)
            try await daemon.stopped()
            daemon.send(SIGCONT)
            for _ in 0..<3 { try await notify.wait(for: "WATCHDOG=1") }
            daemon.send(SIGTERM)
            #expect(try await daemon.ended().status == 0)
        }
    }
}

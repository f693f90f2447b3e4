import Foundation
import Glibc
import TestSupport
import Testing

/// SIGHUP.
@Suite(.timeLimit(.minutes(1)))
struct ReloadTests {
    @Test
    func aHangUpReloadsAndDisturbsNobody() async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory)
            let daemon = try ActivatedDaemon(in: directory, notify: notify)
            try await notify.wait(for: "READY=1")
            let watcher = try daemon.connect(\.events)
            _ = try await watcher.next()
            daemon.send(SIGHUP)
            let message = try await notify.wait(for: "RELOADING=1")
            let stamp = message.split(separator: "=").last.flatMap { Int64($0) }
            #expect(message.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
            #expect(try #require(stamp) > 0)
            try await notify.wait(for: "READY=1")
            _ = try await daemon.connect(\.control).ask("set ready value=true")
            #expect(try await watcher.next().seq == 1)
            daemon.send(SIGTERM)
            #expect(try await watcher.next().string("reason") == "shutdown")
            #expect(try await daemon.ended().status == 0)
        }
    }
}

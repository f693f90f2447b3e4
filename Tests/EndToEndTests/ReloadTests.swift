import Foundation
import Glibc
import TestSupport
import Testing

/// SIGHUP.
@Suite(.bounded)
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

    @Test
    func limitsAndLogLevelAreReadAnew() async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory)
            let file = URL(filePath: "\(directory)/config.yaml")
            try Data("max-watches: 1\nlog-level: warning\n".utf8).write(to: file)
            let daemon = try ActivatedDaemon(
                in: directory,
                notify: notify,
                arguments: ["--config", file.path]
            )
            try await notify.wait(for: "READY=1")
            let client = try daemon.connect(\.control)
            _ = try await client.ask("watch")
            let second = #"{"op":"watch","id":2}"#
            #expect(try await client.ask(second).error == "limit")

            try Data("max-watches: 2\nring-changes: 7\nlog-level: info\n".utf8).write(to: file)
            daemon.send(SIGHUP)
            try await notify.wait(for: "RELOADING=1")
            try await notify.wait(for: "READY=1")
            #expect(try await client.ask(second).type == "state")
            let limits = try #require(try await client.ask("describe").item("limits"))
            #expect(limits.int("watchesPerConnection") == 2)
            #expect(limits.int("ringChanges") == 4096)
            try await daemon.wait(forErrors: "atNextStart=ringChanges")
            try client.send("set ready value=true")
            try await daemon.wait(forErrors: "state=ready(true)")

            // A bad value changes nothing.
            try Data("max-watches: many\n".utf8).write(to: file)
            daemon.send(SIGHUP)
            try await notify.wait(for: "RELOADING=1")
            try await notify.wait(for: "READY=1")
            try await daemon.wait(forErrors: "the reload was refused")
            daemon.send(SIGTERM)
            #expect(try await daemon.ended().status == 0)
        }
    }
}

import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl status: everything about a machine at one moment, and where it comes from.
@Suite(.bounded)
struct StatectlStatusTests {
    /// This process's name.
    private static var ownCommand: String {
        get throws {
            let text = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
            return text.trimmingCharacters(in: .newlines)
        }
    }

    @Test
    func whatStandsInTheWayAndWhoWatchesIsNamed() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            _ = try await client.ask(
                #"{"op":"set","state":"ready","data":{"value":true},"cause":"why so"}"#
            )
            _ = try await client.hold("authentication:phase=idle", #""why":"backup runs""#)
            _ = try await client.ask(
                #"{"op":"guard","before":["dataRetrieval"],"timeoutMs":70,"onTimeout":"deny"}"#
            )
            let watcher = try daemon.connect(\.events)
            _ = try await watcher.next()
            let status = try await daemon.statectl("status")
            #expect(status.status == .exited(0), "\(status.errors)")
            let rows = status.output.split(separator: "\n")
            let user = try #require(NSUserName() as String?)
            let command = try Self.ownCommand
            let live = "\(user) (\(getpid()), \(command)"
            #expect(rows[0].hasPrefix("state      ready(true)   "))
            #expect(rows[0].contains("   by \(live)"))
            #expect(rows[0].hasSuffix(")   why so"))
            #expect(
                rows[1].hasPrefix("held       authentication:phase=idle   hold 1 by \(live)"),
                "\(rows[1])"
            )
            #expect(rows[1].hasSuffix("backup runs"))
            #expect(rows[2].hasPrefix("guarded    dataRetrieval   guard 2 by \(live)"))
            #expect(rows[2].hasSuffix(", denies if silent for 70 ms"))
            #expect(rows[3].hasPrefix("watching   \(live)"))
            #expect(rows[3].hasSuffix(")   up to date"))
            #expect(rows.count == 4)
            let json = try JSONLine(try await daemon.statectl("status", "--json").output)
            #expect(json.string("cause") == "why so")
            #expect(json.items("holds")?.map { $0.int("hold") } == [1])
            #expect(json.items("guards")?.map { $0.int("guard") } == [2])
            #expect(json.items("watching")?.map { $0.string("door") } == ["events"])
            let stats = try await daemon.statectl("stats")
            #expect(stats.output.contains("authentication:phase=idle   hold 1 by \(live)"))
            watcher.vanish()
            client.vanish()
        }
    }

    @Test
    func whoBroughtAStateAboutIsKnownAfterARestart() async throws {
        try await withTemporaryDirectory { directory in
            let durable = ["--state-directory", "\(directory)/state", "--log-level", "error"]
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
                let set = #"{"op":"set","state":"ready","data":{"value":true},"cause":"why so"}"#
                _ = try await daemon.ask(\.control, set)
                let got = try await daemon.ask(\.control, "get")
                #expect(got.string("cause") == "why so")
            }
            try FileManager.default.removeItem(atPath: "\(directory)/notify")
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
                var got = try await daemon.ask(\.control, "get")
                // The cause is read while the daemon starts.
                while !got.has("cause") { got = try await daemon.ask(\.control, "get") }
                #expect(got.string("cause") == "why so")
                #expect(got.item("by")?.int("pid") == Int(getpid()))
            }
        }
    }

    @Test
    func withoutACommandItIsShownOnATerminalAndElsewhereACommandIsAskedFor() async throws {
        try await DaemonProcess.run { daemon in
            let statectl = try BuiltProduct.statectl.path
            let words = "\(statectl) --runtime-directory \(daemon.directory)"
            let shown = try await runTool(.name("script"), ["-qec", words, "/dev/null"])
            #expect(shown.output.contains("state"), "\(shown)")
            #expect(shown.output.contains("ready"), "\(shown)")
            let piped = try await daemon.statectl()
            #expect(piped.status == .exited(2))
            #expect(piped.errors.contains("name a command"))
        }
    }
}

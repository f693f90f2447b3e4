import Subprocess
import TestSupport
import Testing

/// Holds of a name, with statectl, and holds of connections, over a kill of the daemon.
@Suite(.bounded)
struct NamedHoldTests {
    @Test func statectlTakesItAndReleasesItAndItOutlivesTheDaemon() async throws {
        try await withTemporaryDirectory { directory in
            let durable = ["--state-directory", "\(directory)/state"]
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
                let taken = try await daemon.statectl(
                    "--utc",
                    "hold",
                    "--before",
                    "ready",
                    "--as",
                    "freeze",
                    "--max",
                    "2d",
                    "--why",
                    "year's end"
                )
                #expect(taken.status == .exited(0), "\(taken.errors)")
                #expect(
                    taken.output.hasPrefix("hold 1 is taken as freeze, until "),
                    "\(taken.output)"
                )
                try await Self.hold(daemon) { try daemon.send(.kill) }
            }
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
                let denied = try await daemon.statectl("set", "ready", "true")
                #expect(denied.status == .exited(1))
                #expect(denied.errors.contains("taken as freeze: year's end"), "\(denied.errors)")
                #expect(denied.errors.contains("whose client is away"), "\(denied.errors)")
                let status = try await daemon.statectl("status")
                #expect(
                    status.output.contains(", as freeze, until "),
                    "\(status.output)"
                )
                #expect(status.output.contains(", whose client is away"), "\(status.output)")
                #expect(try await daemon.statectl("release", "freeze").status == .exited(0))
                #expect(try await daemon.statectl("release", "2").status == .exited(0))
                let again = try await daemon.statectl("release", "freeze")
                #expect(again.errors == "statectl: there is no hold freeze\n")
                #expect(try await daemon.statectl("set", "ready", "true").status == .exited(0))
            }
        }
    }

    /// Has a hold on a connection while `body` runs.
    private static func hold(
        _ daemon: DaemonProcess,
        _ body: @Sendable () throws -> Void
    ) async throws {
        let client = try daemon.connect(\.control)
        _ = try await client.hold("ready", #""why":"mine""#)
        try body()
        #expect(try await client.nextLine() == nil)
    }

    @Test(arguments: [
        (["--as", "freeze"], "a hold with --as needs an end: "),
        (["--until", "18:00"], "--until needs --as"),
        (["--as", "7", "--max", "1h"], "--as must not be digits alone"),
        (["--as", "a b", "--max", "1h"], "--as must be a name of at most"),
        (["--as", "a", "--until", "soon"], "--until is not a time: \"soon\"; write "),
        (["--as", "a", "--until", "2020-01-01"], "--until is in the past: "),
        (["--as", "a", "--max", "401d"], "a hold may last at most 400 days"),
        (["--as", "a", "--max", "1h", "--", "true"], "--as takes a hold that outlives statectl"),
    ])
    func whatMakesNoSenseIsSaid(options: [String], sentence: String) async throws {
        let run = try await BuiltProduct.statectl.run(["hold", "--before", "ready"] + options)
        #expect(run.status == .exited(2))
        #expect(run.errors.contains(sentence), "\(run.errors)")
    }
}

import Foundation
import Subprocess
import TestSupport
import Testing

/// How the daemon starts and ends.
@Suite(.bounded)
struct LifecycleTests {
    @Test
    func readyMeansThatBothDoorsAnswer() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let control = try await daemon.ask(\.control, "get")
                let events = try await daemon.ask(\.events, "ping")
                #expect(control.state == "ready")
                #expect(events.type == "state")
            }
        }
    }

    @Test(arguments: [Signal.terminate, .interrupt])
    func aSignalEndsItGracefully(signal: Signal) async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let control = try daemon.connect(\.control)
                let events = try daemon.connect(\.events)
                #expect(try await events.next().type == "state")
                try control.send(#"{"op":"wait","id":7,"until":["ready:value=true"]}"#)
                #expect(try await control.ask("ping").seq == 0)

                try daemon.send(signal)
                try await daemon.notify.wait(for: "STOPPING=1")

                let farewell = try await control.rest()
                #expect(farewell.map(\.type) == ["reply", "bye"])
                #expect(farewell.first?.error == "shutting-down")
                #expect(farewell.first?.int("id") == 7)
                #expect(farewell.last?.string("reason") == "shutdown")
                #expect(try await events.rest().map(\.type) == ["bye"])
            }
            #expect(ended.status == .exited(0))
            #expect(try FileManager.default.contentsOfDirectory(atPath: ended.runtime).isEmpty)
        }
    }

    @Test
    func statusFollowsTheState() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let control = try daemon.connect(\.control)
                _ = try await control.ask("set authentication phase=active")
                let status = try await daemon.notify.wait(for: "STATUS=authentication")
                #expect(status == "STATUS=authentication(phase: active), seq 1, 0 watches")
            }
        }
    }

    @Test
    func aSecondDaemonRefusesTheDirectoryOfALiveOne() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let second = try await BuiltProduct.statemachine.run(
                    ["--runtime-directory", daemon.directory]
                )
                #expect(second.status == .exited(78))
                #expect(second.errors.contains("another daemon is running in \(daemon.directory)"))
                #expect(try await daemon.ask(\.control, "ping").ok == true)
            }
        }
    }

    @Test
    func aKilledDaemonsSocketsAreReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let killed = try await DaemonProcess.run(in: directory) { daemon in
                try daemon.send(.kill)
            }
            #expect(killed.status == .signaled(9))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: killed.runtime).sorted()
                    == ["control.sock", "events.sock", "statemachine.lock"]
            )
            try FileManager.default.removeItem(atPath: killed.notify.path)
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let reply = try await daemon.ask(\.control, "ping")
                #expect(reply.ok == true)
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test
    func aFileThatIsNoSocketIsLeftAlone() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/events.sock"
            try Data("mine".utf8).write(to: URL(filePath: path))
            let refused = try await BuiltProduct.statemachine.run(
                ["--runtime-directory", directory]
            )
            #expect(refused.status == .exited(78))
            #expect(refused.errors.contains("\(path) is in the way: it is not a socket"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/control.sock"))
        }
    }

    @Test
    func withoutARuntimeDirectoryItSaysWhichWereTried() async throws {
        let daemon = try BuiltProduct.statemachine.path
        let nowhere: [Environment.Key: String?] = [
            "RUNTIME_DIRECTORY": nil,
            "XDG_RUNTIME_DIR": nil,
        ]
        let refused =
            if getuid() == 0 {
                // Root has /run/statemachine; the user "nobody" has no directory.
                try await runTool(
                    .name("setpriv"),
                    ["--reuid=65534", "--regid=65534", "--clear-groups", daemon],
                    environment: nowhere
                )
            } else {
                try await BuiltProduct.statemachine.run([], environment: nowhere)
            }
        #expect(refused.status == .exited(78))
        for tried in ["--runtime-directory", "$RUNTIME_DIRECTORY", "$XDG_RUNTIME_DIR"] {
            #expect(refused.errors.contains(tried))
        }
    }

    @Test
    func aPathTooLongForASocketIsRefused() async throws {
        try await withTemporaryDirectory { directory in
            let long = directory + "/" + String(repeating: "x", count: 100)
            let refused = try await BuiltProduct.statemachine.run(["--runtime-directory", long])
            #expect(refused.status == .exited(78))
            #expect(refused.errors.contains("the socket path \(long)/"))
        }
    }
}

import Foundation
import Subprocess
import TestSupport
import Testing

/// What people type.
@Suite(.bounded)
struct SocatTests {
    @Test
    func getIsAnsweredAndEndsByItself() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let got = try await runTool(
                    .name("socat"),
                    ["-t", "60", "-", "UNIX-CONNECT:\(daemon.control)"],
                    input: "get\n"
                )
                #expect(got.output.split(separator: "\n").count == 1)
                #expect(got.output.contains(#""state":"ready","data":{"value":false}"#))
                #expect(got.status == .exited(0))
            }
        }
    }

    @Test
    func theEventsDoorGivesOneLineToAClientThatOnlyConnects() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let got = try await runTool(
                    .name("socat"),
                    ["-t", "60", "-", "UNIX-CONNECT:\(daemon.events)"]
                )
                #expect(got.output.split(separator: "\n").count == 1)
                #expect(got.output.hasPrefix(#"{"type":"state","seq":0,"#))
            }
        }
    }

    @Test
    func theEventsDoorShowsEveryChange() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let seen = try await Subprocess.run(
                    .name("socat"),
                    arguments: ["-u", "UNIX-CONNECT:\(daemon.events)", "-"],
                    input: .none,
                    output: .sequence,
                    error: .discarded
                ) { socat in
                    var lines = socat.standardOutput.strings().makeAsyncIterator()
                    #expect(try await lines.next()?.hasPrefix(#"{"type":"state","seq":0"#) == true)
                    let control = try daemon.connect(\.control)
                    for seq in 1...3 {
                        _ = try await control.ask("set ready value=\(seq % 2 == 1)")
                        let line = try await lines.next() ?? ""
                        #expect(line.hasPrefix(#"{"type":"change","seq":\#(seq),"#))
                    }
                    try socat.send(signal: .terminate)
                }
                _ = seen
            }
        }
    }

    @Test
    func anExplicitWatchOutlivesTheClientsEndOfFile() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let watcher = try daemon.connect(\.control)
                try watcher.send("watch")
                watcher.endInput()
                #expect(try await watcher.next().type == "state")
                let setter = try daemon.connect(\.control)
                #expect(try await setter.ask("set ready value=true").ok == true)
                #expect(try await watcher.next().seq == 1)
            }
        }
    }

    @Test
    func aPendingWaitIsAnsweredAfterTheClientsEndOfFile() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let waiter = try daemon.connect(\.events)
                try waiter.send("wait ready:value=true")
                waiter.endInput()
                #expect(try await waiter.next().type == "state")
                let setter = try daemon.connect(\.control)
                #expect(try await setter.ask("set authentication phase=active").ok == true)
                #expect(try await setter.ask("set ready value=true").ok == true)
                let rest = try await waiter.rest()
                #expect(rest.map(\.type) == ["reply"])
                #expect(rest.first?.string("matched") == "ready:value=true")
            }
        }
    }

    @Test
    func aLineWithoutNewlineIsNotCarriedOut() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let client = try daemon.connect(\.control)
                try client.send(raw: "get\nset ready value=true")
                client.endInput()
                let lines = try await client.rest()
                #expect(lines.map(\.ok) == [true, false])
                #expect(lines.last?.error == "bad-request")
                #expect(try await daemon.ask(\.control, "ping").seq == 0)
            }
        }
    }
}

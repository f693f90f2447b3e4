import Subprocess
import TestSupport
import Testing

/// The disk refuses what is to be committed: nothing changes, everything else goes on, and sets
/// succeed again once the disk has recovered.
@Suite(.bounded) struct DurabilityTroubleTests {
    @Test func aFileThatMayNotGrowRefusesSetsUntilItMay() async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            try await Self.check(
                daemon,
                breaking: { try await Self.limitFiles(of: daemon.pid, to: "0") },
                mending: { try await Self.limitFiles(of: daemon.pid, to: "unlimited") }
            )
        }
    }

    @Test(.enabled("needs to mount a file system") { try await SmallDisk.isAllowed() })
    func aFullDiskRefusesSetsUntilThereIsRoom() async throws {
        try await SmallDisk.with { disk in
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                try await Self.check(daemon, breaking: disk.fill, mending: disk.empty)
            }
        }
    }

    @Test func whatIsAnsweredWhenTheDaemonEndsHasHappenedOrHasNot() async throws {
        try await withTemporaryDirectory { directory in
            let state = "\(directory)/state"
            let told = Recorder<Int>()
            try await DaemonProcess.run("--state-directory", state) { daemon in
                let setter = try daemon.connect(\.control)
                var requests = ""
                // Few enough for all answers to fit the socket's buffer: they are read after the
                // end.
                for number in 1...800 {
                    requests +=
                        "{\"op\":\"set\",\"id\":\(number),\"state\":\"ready\","
                        + "\"data\":{\"value\":true},\"reenter\":true}\n"
                }
                let text = requests
                try await blocking { try setter.send(raw: String(text.prefix(text.count / 4))) }
                // The daemon is working on them.
                told.record(try await #require(setter.next().seq))
                try await blocking {
                    try daemon.send(.terminate)
                    // The daemon may be gone before the rest is sent.
                    try? setter.send(raw: String(text.dropFirst(text.count / 4)))
                }
                while let line = try? await setter.nextLine() {
                    let reply = try JSONLine(line)
                    if reply.ok == true, let seq = reply.seq { told.record(seq) }
                    if reply.ok == false { #expect(reply.error == "shutting-down") }
                }
            }
            try await DaemonProcess.run("--state-directory", state) { daemon in
                let head = try await daemon.ask(\.control, "get").seq
                #expect(told.heard == Array(1...(told.heard.count)))
                #expect(head == told.heard.last)
            }
        }
    }

    private static func check(
        _ daemon: DaemonProcess,
        breaking: () async throws -> Void,
        mending: () async throws -> Void
    ) async throws {
        let client = try daemon.connect(\.control)
        #expect(try await client.ask("set ready value=true").seq == 1)
        let watcher = try daemon.connect(\.events)
        #expect(try await watcher.next().seq == 1)
        try await breaking()
        // The existing files may take some more before the disk is full.
        var seq = 1
        var refusal: JSONLine?
        while refusal == nil {
            let reply = try await client.ask(
                #"{"op":"set","state":"ready","data":{"value":true},"reenter":true}"#
            )
            if reply.ok == true { seq += 1 } else { refusal = reply }
        }
        #expect(refusal?.error == "internal")
        #expect(refusal?.string("message")?.contains("statemachine.sqlite") == true)
        #expect(refusal?.seq == seq)
        #expect(try await client.ask("get").seq == seq)
        let status = "STATUS=ready(true), seq \(seq), 1 watch; changes are refused: "
        try await daemon.notify.wait(for: status)
        try await mending()
        #expect(try await client.ask("set authentication phase=idle").seq == seq + 1)
        try await daemon.notify.wait(for: "STATUS=authentication(phase: idle), seq \(seq + 1)")
        for expected in stride(from: 2, through: seq + 1, by: 1) {
            #expect(try await watcher.next().seq == expected)
        }
    }

    private static func limitFiles(of pid: Int32, to bytes: String) async throws {
        let result = try await runTool(.name("prlimit"), ["--pid", "\(pid)", "--fsize=\(bytes):"])
        guard result.status == .exited(0) else { throw TestFailure("prlimit: \(result.errors)") }
    }
}

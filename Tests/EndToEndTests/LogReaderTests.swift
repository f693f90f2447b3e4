import Foundation
import TestSupport
import Testing

/// A reader of the log, slow or absent, has no effect on the daemon.
@Suite(.bounded) struct LogReaderTests {
    /// Starts the daemon through a shell, where `stderr` redirects its stderr.
    private static func start(
        in directory: String,
        notify: NotifySocket,
        stderr: String,
        _ arguments: [String] = []
    ) throws -> ActivatedDaemon {
        try ActivatedDaemon(
            in: directory,
            notify: notify,
            arguments: arguments,
            command: ["/bin/bash", "-c", "\(stderr); exec \"$@\"", "bash"]
        )
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGUSR2])
    func aLogThatNobodyReadsKeepsItFromNothing(_ signal: CInt) async throws {
        try await withTemporaryDirectory { directory in
            let fifo = "\(directory)/log"
            #expect(mkfifo(fifo, 0o600) == 0)
            let pipe = Descriptor(open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC), name: "log")
            let page = [UInt8](repeating: UInt8(ascii: "."), count: 4096)
            while write(pipe.number, page, page.count) > 0 {}
            // Until there is no room for a single byte.
            while write(pipe.number, page, 1) > 0 {}

            let notify = try NotifySocket(in: directory)
            let daemon = try Self.start(in: directory, notify: notify, stderr: "exec 2>\(fifo)")
            try await notify.wait(for: "READY=1")
            for _ in 1...3 {
                daemon.send(SIGHUP)
                try await notify.wait(for: "RELOADING=1")
                try await notify.wait(for: "READY=1")
            }
            let setter = try daemon.connect(\.control)
            for value in [true, false] {
                #expect(try await setter.ask("set ready value=\(value)").type == "reply")
            }
            daemon.send(signal)
            try await notify.wait(for: "STOPPING=1")
            #expect(try await daemon.ended().status == 0)
        }
    }

    @Test func aLogWithoutAReaderEndsNothing() async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory)
            let daemon = try Self.start(
                in: directory,
                notify: notify,
                stderr: "exec 2> >(exec true); wait $!",
                ["--state-directory", "\(directory)/state", "--max-watches", "0x"]
            )
            // The daemon ends by refusing a bad option, not by a signal; with good ones it starts.
            try await notify.wait(for: "STATUS=")
            #expect(try await daemon.ended().status > 0)
            let other = try Self.start(
                in: directory,
                notify: notify,
                stderr: "exec 2> >(exec true); wait $!"
            )
            try await notify.wait(for: "READY=1")
            #expect(try await other.connect(\.control).ask("set ready value=true").seq == 1)
            other.send(SIGTERM)
            #expect(try await other.ended().status == 0)
        }
    }

    @Test func aClosedStderrIsNoneOfItsFiles() async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory)
            let daemon = try Self.start(
                in: directory,
                notify: notify,
                stderr: "exec 0<&- 1>&- 2>&-",
                ["--state-directory", "\(directory)/state"]
            )
            try await notify.wait(for: "READY=1")
            #expect(try await daemon.connect(\.control).ask("set ready value=true").seq == 1)
            daemon.send(SIGHUP)
            try await notify.wait(for: "RELOADING=1")
            try await notify.wait(for: "READY=1")
            for number in 0...2 {
                let link = "/proc/\(daemon.pid)/fd/\(number)"
                let file = try FileManager.default.destinationOfSymbolicLink(atPath: link)
                #expect(file == "/dev/null")
            }
            daemon.send(SIGTERM)
            #expect(try await daemon.ended().status == 0)
            let lock = try String(
                contentsOfFile: "\(directory)/state/statemachine.lock",
                encoding: .utf8
            )
            #expect(lock.split(separator: "\n").count == 3)
        }
    }
}

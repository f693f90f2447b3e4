import Foundation
import TestSupport
import Testing

/// A reader of the log, slow or absent, has no effect on the daemon.
@Suite(.bounded) struct LogReaderTests {
    /// A shell that redirects the daemon's stderr and becomes the daemon.
    private static func shell(_ stderr: String) -> [String] {
        ["/bin/bash", "-c", "\(stderr); exec \"$@\"", "bash"]
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGUSR2])
    func aLogThatNobodyReadsKeepsItFromNothing(_ signal: CInt) async throws {
        try await withIdleService { service in
            let fifo = "\(service.directory)/log"
            #expect(mkfifo(fifo, 0o600) == 0)
            let pipe = Descriptor(open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC), name: "log")
            let page = [UInt8](repeating: UInt8(ascii: "."), count: 4096)
            while write(pipe.number, page, page.count) > 0 {}
            // Until there is no room for a single byte.
            while write(pipe.number, page, 1) > 0 {}

            let daemon = try await service.start(command: Self.shell("exec 2>\(fifo)"))
            for _ in 1...3 { try await service.reload(daemon) }
            let setter = try daemon.connect(\.control)
            for value in [true, false] {
                #expect(try await setter.ask("set ready value=\(value)").type == "reply")
            }
            daemon.send(signal)
            try await service.notify.wait(for: "STOPPING=1")
            #expect(try await daemon.ended().status == 0)
        }
    }

    @Test func aLogWithoutAReaderEndsNothing() async throws {
        try await withIdleService(isDurable: true) { service in
            let unread = Self.shell("exec 2> >(exec true); wait $!")
            let daemon = try service.spawn(["--max-watches", "0x"], command: unread)
            // The daemon ends by refusing a bad option, not by a signal; with good ones it starts.
            try await service.notify.wait(for: "STATUS=")
            #expect(try await daemon.ended().status > 0)
            let other = try await service.start(command: unread)
            #expect(try await other.connect(\.control).ask("set ready value=true").seq == 1)
            #expect(try await other.end() == 0)
        }
    }

    @Test func aClosedStderrIsNoneOfItsFiles() async throws {
        try await withIdleService(isDurable: true) { service in
            let daemon = try await service.start(command: Self.shell("exec 0<&- 1>&- 2>&-"))
            #expect(try await daemon.connect(\.control).ask("set ready value=true").seq == 1)
            try await service.reload(daemon)
            for number in 0...2 {
                let link = "/proc/\(daemon.pid)/fd/\(number)"
                let file = try FileManager.default.destinationOfSymbolicLink(atPath: link)
                #expect(file == "/dev/null")
            }
            #expect(try await daemon.end() == 0)
            let lock = try String(
                contentsOfFile: "\(service.state)/statemachine.lock",
                encoding: .utf8
            )
            #expect(lock.split(separator: "\n").count == 3)
        }
    }
}

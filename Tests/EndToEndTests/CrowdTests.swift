import Foundation
import Subprocess
import TestSupport
import Testing

/// What many readers cost when some of them do not read.
///
/// `STATEMACHINE_CROWD_CHANGES` sets how many changes they are sent; the limits are meant for
/// 200000 against an optimized build.
@Suite(.timeLimit(.minutes(30)), .serialized) struct CrowdTests {
    private static var changes: Int {
        ProcessInfo.processInfo.environment["STATEMACHINE_CROWD_CHANGES"].flatMap(Int.init)
            ?? 20_000
    }

    private static let readers = 500

    /// How many changes the others have read when the slow one reads its next byte.
    ///
    /// 1000: a few bytes a second; its first line takes longer than the whole test. Not tuned.
    private static let changesPerByte = 1000

    @Test func readersWhoDoNotReadCostAndSlowNothing() async throws {
        let changes = Self.changes
        try await DaemonProcess.run("--max-connections", "1024") { daemon in
            let start = try daemon.residentKiB()
            let readers = try await Subscribers(Self.readers - 2, at: daemon.events)
            let slow = try daemon.connect(\.events)
            let epoch = try await daemon.epoch()
            let seen = try await Subprocess.run(
                .name("socat"),
                arguments: ["-u", "UNIX-CONNECT:\(daemon.events)", "-"],
                input: .none,
                output: .sequence,
                error: .discarded
            ) { socat in
                // Refused only if it has ended by itself; a stopped one ends when it is resumed.
                defer {
                    try? socat.send(signal: .terminate)
                    try? socat.send(signal: .resume)
                }
                var lines = socat.standardOutput.strings().makeAsyncIterator()
                #expect(try await lines.next()?.contains(#""seq":0"#) == true)
                try socat.send(signal: .suspend)

                let end = "\"cursor\":\"\(epoch):\(changes)\"}\n"
                let reading = Task {
                    try await readers.readAll(upTo: end, every: Self.changesPerByte) {
                        try slow.readByte()
                    }
                }
                let setter = try daemon.connect(\.control)
                try await daemon.change(upTo: changes)
                let stream = try await reading.value
                #expect(stream.count { $0 == UInt8(ascii: "\n") } == changes)
                let isInOrder = String(decoding: stream, as: UTF8.self).split(separator: "\n")
                    .enumerated().allSatisfy { index, line in
                        line.hasPrefix(#"{"type":"change","seq":\#(index + 1),"#)
                    }
                #expect(isInOrder)
                let whileStopped = try daemon.residentKiB()
                #expect(whileStopped - start <= 16 << 10, "\(start) KiB became \(whileStopped)")

                try socat.send(signal: .resume)
                var last = 0
                var resyncs = 0
                while last < changes + 1 {
                    let line = try JSONLine(try #require(try await lines.next()))
                    let seq = try #require(line.seq)
                    if line.type == "state" {
                        #expect(line.string("resync") == "lagged")
                        #expect(line.int("missed") == seq - last)
                        resyncs += 1
                        // Later changes arrive as if nothing had happened.
                        _ = try await setter.ask("set authentication phase=active")
                    } else {
                        #expect(line.type == "change")
                        #expect(seq == last + 1)
                    }
                    last = seq
                }
                #expect(resyncs == 1)
                let after = try daemon.residentKiB()
                #expect(after - start <= 16 << 10, "\(start) KiB became \(after)")
                print("crowd: \(changes) changes; \(start) KiB, then \(whileStopped), \(after)")
            }
            _ = seen
        }
    }
}

extension DaemonProcess {
    /// The daemon's resident memory, in KiB.
    func residentKiB() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(self.pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let number = line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first
        guard let number, let size = Int(number) else { throw TestFailure("no VmRSS") }
        return size
    }
}

extension LineSocket {
    /// Reads one byte, waiting for it if necessary.
    fileprivate func readByte() throws {
        var byte: UInt8 = 0
        try self.waitForInput()
        guard recv(self.descriptor, &byte, 1, 0) == 1 else { throw TestFailure("cut off") }
    }
}

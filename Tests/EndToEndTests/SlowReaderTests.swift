import TestSupport
import Testing

/// The one line, a resync, that tells a reader that was too slow what it missed; for what many of them cost see
/// ``CrowdTests``.
@Suite(.bounded) struct SlowReaderTests {
    @Test func aBeatIsTheLineThatALaterLossIsCountedFrom() async throws {
        try await DaemonProcess.run("--ring-changes", "16") { daemon in
            let watcher = try daemon.connect(\.control)
            _ = try await watcher.ask(#"{"op":"watch","only":["authentication"],"beatMs":100}"#)
            let setter = try daemon.connect(\.control)
            try await daemon.change(upTo: 10)
            var line = try await watcher.next()
            while line.seq != 10 { line = try await watcher.next() }
            #expect(line.type == "beat")
            let cause = String(repeating: "x", count: 250)
            try await setter.pipeline(11...5000) {
                #"{"op":"set","state":"authentication","data":{"phase":"active"},"#
                    + #""reenter":true,"cause":"\#(cause)\#($0)"}"#
            }
            var last = 10
            while line.type != "state" {
                if let seq = line.seq { last = seq }
                line = try await watcher.next()
            }
            #expect(line.string("resync") == "lagged")
            #expect(line.int("missed") == (line.seq ?? 0) - last)
        }
    }
}

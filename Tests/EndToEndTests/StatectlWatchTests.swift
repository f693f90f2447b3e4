import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl watch: where it begins, what it leaves out, when it ends, and what it runs.
@Suite(.bounded)
struct StatectlWatchTests {
    @Test
    func aWatchGoesOnAfterACursorAndLatestLeavesOutWhatIsOld() async throws {
        try await DaemonProcess.run { daemon in
            try await daemon.change(upTo: 3)
            let epoch = try await daemon.epoch()
            let replay = try await daemon.statectl(
                "watch",
                "--json",
                "--since",
                "\(epoch):1",
                "--count",
                "2"
            )
            let lines = try replay.output.split(separator: "\n").map { try JSONLine(String($0)) }
            #expect(lines.map(\.seq) == [2, 3])
            #expect(lines.map { $0.bool("replay") } == [true, true])
            let latest = try await daemon.statectl(
                "watch",
                "--json",
                "--since",
                "\(epoch):0",
                "--latest",
                "--count",
                "1"
            )
            let newest = try JSONLine(latest.output)
            #expect(newest.seq == 3)
            #expect(newest.int("skipped") == 2)
        }
    }

    @Test
    func aWatchEndsInItsStateAndDoesNotWaitForWhatItsPaceHoldsBack() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = [
                "watch", "--json", "--every", "3600", "--until", "authentication:phase=success",
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                #expect(try JSONLine(try await watch.next()).seq == 0)
                let client = try daemon.connect(\.control)
                _ = try await client.ask("set ready value=true")
                // The first after a quiet interval is shown at once, the second has to wait an
                // hour.
                #expect(try JSONLine(try await watch.next()).seq == 1)
                _ = try await client.ask("set authentication phase=success")
                await #expect(throws: TestFailure.self) { try await watch.next() }
            }
            #expect(status == .exited(0))
        }
    }

    @Test
    func aWatchsCommandIsToldEachLineAndTheLastIsNeverLeftOut() async throws {
        try await DaemonProcess.run { daemon in
            let fifo = try FIFO(beside: daemon.directory)
            let script = """
                echo "$STATEMACHINE_SEQ $STATEMACHINE_STATE $STATEMACHINE_DATA $STATEMACHINE_FROM"
                cat
                read go <"$0"
                """
            let arguments = [
                "watch", "--until", "authentication:phase=success", "--exec",
                "sh", "-c", script, fifo.path,
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                #expect(try await watch.next() == #"0 ready {"value":false} "#)
                #expect(try JSONLine(try await watch.next()).type == "state")
                // While the first command runs, none is started for these.
                try await daemon.change(upTo: 5)
                _ = try await daemon.ask(\.control, "set authentication phase=success")
                var seen = 0
                while seen < 6 {
                    try fifo.open()
                    let words = try await watch.next().split(separator: " ")
                    let line = try JSONLine(try await watch.next())
                    let seq = try #require(words.first.flatMap { Int($0) })
                    #expect(line.seq == seq)
                    #expect(seq > seen)
                    if seq == 6 {
                        #expect(
                            words.dropFirst().joined(separator: " ")
                                == #"authentication {"phase":"success"} ready"#
                        )
                    }
                    seen = seq
                }
                try fifo.open()
            }
            #expect(status == .exited(0))
        }
    }

    @Test
    func aCursorFileGoesOnWhereTheLastWatchEnded() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/cursor"
            let arguments = ["watch", "--json", "--cursor-file", file, "--count"]
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let epoch = try await daemon.epoch()
                let first = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory] + arguments + ["1"]
                )
                #expect(try JSONLine(first.output).type == "state")
                #expect(try String(contentsOfFile: file, encoding: .utf8) == "\(epoch):0\n")
                try await daemon.change(upTo: 2)
                let second = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory] + arguments + ["2"]
                )
                let lines = try second.output.split(separator: "\n").map {
                    try JSONLine(String($0))
                }
                #expect(lines.map(\.seq) == [1, 2])
                #expect(try String(contentsOfFile: file, encoding: .utf8) == "\(epoch):2\n")
            }
            try "elsewhere:7\n".write(toFile: file, atomically: true, encoding: .utf8)
            try FileManager.default.removeItem(atPath: "\(directory)/notify")
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let epoch = try await daemon.epoch()
                let anew = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory] + arguments + ["1"]
                )
                let line = try JSONLine(anew.output)
                #expect(line.type == "state")
                #expect(line.has("resync"))
                #expect(
                    try String(contentsOfFile: file, encoding: .utf8)
                        == "\(epoch):\(try #require(line.seq))\n"
                )
            }
        }
    }
}

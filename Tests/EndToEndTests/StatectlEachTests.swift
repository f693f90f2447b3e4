import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl watch --each: a command for each change, at least once, in order; and missing programs.
@Suite(.bounded)
struct StatectlEachTests {
    /// Arguments for a command that prints the change's number and waits to be released.
    private func arguments(_ cursor: String, _ fifo: FIFO) -> [String] {
        let script = #"echo "$STATEMACHINE_SEQ"; read go <"$0""#
        return [
            "watch", "--each", "--cursor-file", cursor, "--exec", "sh", "-c", script, fifo.path,
        ]
    }

    @Test
    func aChangeWhoseCommandWasKilledComesAgainAndNoneIsLeftOut() async throws {
        try await withTemporaryDirectory { directory in
            let cursor = "\(directory)/cursor"
            let fifo = try FIFO(beside: "\(directory)/each")
            let durable = ["--state-directory", "\(directory)/state", "--log-level", "error"]
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
                let words = self.arguments(cursor, fifo)
                let killed = try await daemon.withStatectl(words) { watch in
                    try await self.awaitFile(cursor)
                    try await daemon.change(upTo: 3)
                    #expect(try await watch.next() == "1")
                    try fifo.open()
                    #expect(try await watch.next() == "2")
                    try watch.send(.kill)
                    // Its command is orphaned.
                    try fifo.open()
                }
                #expect(killed == .signaled(9))
                try daemon.send(.kill)
            }
            try FileManager.default.removeItem(atPath: "\(directory)/notify")
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
                let words = self.arguments(cursor, fifo)
                let status = try await daemon.withStatectl(words) { watch in
                    for seq in 2...3 {
                        #expect(try await watch.next() == "\(seq)")
                        try fifo.open()
                    }
                    _ = try await daemon.ask(\.control, "set authentication phase=active")
                    #expect(try await watch.next() == "4")
                    try watch.send(.terminate)
                    try fifo.open()
                }
                #expect(status == .signaled(15))
                // The running command was allowed to finish, and its change is recorded.
                let text = try String(contentsOfFile: cursor, encoding: .utf8)
                #expect(text.hasSuffix(":4\n"))
            }
        }
    }

    @Test
    func aCommandThatFailsEndsTheWatchAndKeepsItsChange() async throws {
        try await DaemonProcess.run { daemon in
            let cursor = "\(daemon.directory)/cursor"
            let epoch = try await daemon.epoch()
            try await daemon.change(upTo: 2)
            try "\(epoch):0\n".write(toFile: cursor, atomically: true, encoding: .utf8)
            let ended = try await daemon.statectl(
                "watch",
                "--each",
                "--cursor-file",
                cursor,
                "--exec",
                "sh",
                "-c",
                #"test "$STATEMACHINE_SEQ" = 1"#
            )
            #expect(ended.status == .exited(1))
            #expect(
                ended.errors
                    == "statectl: sh ended with status 1; change 2 counts as not handled\n"
            )
            #expect(try String(contentsOfFile: cursor, encoding: .utf8) == "\(epoch):1\n")
        }
    }

    @Test
    func aCommandThatFailsIsTriedAgainBeforeTheNextChange() async throws {
        try await DaemonProcess.run { daemon in
            let epoch = try await daemon.epoch()
            try await daemon.change(upTo: 2)
            let script = #"echo "$STATEMACHINE_SEQ"; test -e "$0" || { touch "$0"; exit 1; }"#
            let ended = try await daemon.statectl(
                "watch",
                "--each",
                "--retry",
                "--since",
                "\(epoch):0",
                "--count",
                "2",
                "--exec",
                "sh",
                "-c",
                script,
                "\(daemon.directory)/tried"
            )
            #expect(ended.status == .exited(0))
            #expect(ended.output == "1\n1\n2\n")
            #expect(
                ended.errors
                    == "statectl: sh ended with status 1; trying change 1 again in 1.0 s\n"
            )
        }
    }

    @Test
    func aProgramThatCannotBeStartedIsAnErrorAtOnce() async throws {
        try await withTemporaryDirectory { directory in
            // There is no daemon: the error comes before waiting for one.
            let common = ["--runtime-directory", "\(directory)/run"]
            let watch = try await BuiltProduct.statectl.run(
                common + ["watch", "--exec", "no-such-command"]
            )
            #expect(watch.status == .exited(127))
            #expect(watch.errors == "statectl: there is no command no-such-command\n")
            let file = "\(directory)/file"
            try "".write(toFile: file, atomically: true, encoding: .utf8)
            let voting = try await BuiltProduct.statectl.run(
                common + ["guard", "--before", "ready", "--", file]
            )
            #expect(voting.status == .exited(126))
            #expect(voting.errors == "statectl: \(file) could not be started: permission denied\n")
        }
    }

    private func awaitFile(_ path: String) async throws {
        while !FileManager.default.fileExists(atPath: path) {
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

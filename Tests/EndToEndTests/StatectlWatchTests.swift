import Foundation
import Glibc
import Subprocess
import TestSupport
import Testing

/// statectl watch: what it runs, and what it does when the daemon ends and returns.
@Suite(.bounded) struct StatectlWatchTests {
    @Test func aWatchEndsInItsStateAndDoesNotWaitForWhatItsPaceHoldsBack() async throws {
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

    /// Who takes the next change is not ended by a sign of life.
    @Test func aBeatDoesNotCountAndTheHelpSaysSo() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = ["watch", "--json", "--count", "2", "--beat", "100ms"]
            let status = try await daemon.withStatectl(arguments) { watch in
                for type in ["state", "beat", "beat", "beat"] {
                    #expect(try JSONLine(try await watch.next()).type == type)
                }
                _ = try await daemon.ask(\.control, "set ready value=true")
                while try JSONLine(try await watch.next()).type == "beat" {}
            }
            #expect(status == .exited(0))
            let help = try await daemon.statectl("watch", "--help").output
            let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(
                words.contains("this many states and changes; beats and other lines do not count")
            )
        }
    }

    @Test func aWatchsCommandIsToldEachLineAndTheLastIsNeverLeftOut() async throws {
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

    /// Arguments for a command that prints the change's number and waits to be released.
    private func arguments(_ cursor: String, _ fifo: FIFO) -> [String] {
        let script = #"echo "$STATEMACHINE_SEQ"; read go <"$0""#
        return [
            "watch", "--each", "--cursor-file", cursor, "--exec", "sh", "-c", script, fifo.path,
        ]
    }

    @Test func aChangeWhoseCommandWasKilledComesAgainAndNoneIsLeftOut() async throws {
        try await withTemporaryDirectory { directory in
            let cursor = "\(directory)/cursor"
            let fifo = try FIFO(beside: "\(directory)/each")
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
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
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
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

    private func awaitFile(_ path: String) async throws {
        while !FileManager.default.fileExists(atPath: path) {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func aWatchsCommandIsNotRunForAStateThatIsNotMeant() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = [
                "watch", "authentication", "--count", "2", "--exec", "sh", "-c",
                #"echo "$STATEMACHINE_EVENT $STATEMACHINE_STATE $STATEMACHINE_BY_UID $STATEMACHINE_CAUSE""#,
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                try await daemon.awaitWatches(1)
                try await daemon.change(upTo: 3)
                let set =
                    #"{"op":"set","state":"authentication","data":{"phase":"PHASE"},"cause":"why"}"#
                for phase in ["active", "success"] {
                    let line = set.replacing("PHASE", with: phase)
                    _ = try await daemon.ask(\.control, line)
                    #expect(try await watch.next() == "change authentication \(getuid()) why")
                }
            }
            #expect(status == .exited(0))
        }
    }

    @Test func aWatchWaitsForItsDaemonAndSaysThatItHasGoneAndComeBack() async throws {
        try await withTemporaryDirectory { directory in
            let arguments = ["--runtime-directory", "\(directory)/run", "watch"]
            let status = try await StatectlProcess.run(arguments) { watch in
                #expect(try await watch.next().hasSuffix("; waiting for the daemon"))
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let line = try await watch.next()
                    #expect(line.contains("#0      ready(false)"))
                }
                #expect(try await watch.next().hasSuffix("  — gone: the daemon is shutting down"))
                _ = try await DaemonProcess.run(in: directory) { _ in
                    #expect(try await watch.next().hasSuffix("  — back"))
                    #expect(try await watch.next().contains("— the daemon was restarted"))
                    try watch.send(.terminate)
                }
            }
            #expect(status == .signaled(15))
        }
    }

    @Test(arguments: [([String](), true), (["ready"], false), (["ready", "--gone"], true)])
    func aCommandIsToldThatTheDaemonHasGone(words: [String], isTold: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let arguments =
                ["--runtime-directory", "\(directory)/run", "watch"] + words + [
                    "--exec", "sh", "-c", #"echo "$STATEMACHINE_EVENT:$STATEMACHINE_STATE""#,
                ]
            let status = try await StatectlProcess.run(arguments) { watch in
                // statectl's own lines may come before or after its command's.
                var lines = [try await watch.next()]
                if isTold { lines.append(try await watch.next()) }
                #expect(lines.contains("gone:") == isTold)
                #expect(lines.contains { $0.hasSuffix("; waiting for the daemon") })
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let line = try await watch.next()
                    #expect(line == "state:ready")
                }
                lines = [try await watch.next()]
                if isTold { lines.append(try await watch.next()) }
                #expect(lines.contains("gone:") == isTold)
                #expect(lines.contains { $0.hasSuffix("; reconnecting") })
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let back = [try await watch.next(), try await watch.next()]
                    #expect(back.contains("statectl: connected"))
                    #expect(back.contains(isTold ? "back:ready" : "state:ready"))
                    try watch.send(.terminate)
                }
            }
            #expect(status == .signaled(15))
        }
    }

    @Test func aWaitWaitsForItsDaemonUnlessItIsNotTo() async throws {
        try await withTemporaryDirectory { directory in
            let common = ["--runtime-directory", "\(directory)/run", "wait", "ready"]
            let hasty = try await BuiltProduct.statectl.run(common + ["--no-wait"])
            #expect(hasty.status == .exited(69))
            let timed = try await BuiltProduct.statectl.run(common + ["--timeout", "0.1"])
            #expect(timed.status == .exited(124))
            let status = try await StatectlProcess.run(common) { wait in
                #expect(try await wait.next().contains("no daemon answers"))
                _ = try await DaemonProcess.run(in: directory) { _ in
                    #expect(try await wait.next() == "statectl: connected")
                    let line = try await wait.next()
                    #expect(line.hasPrefix("ready(false)"))
                }
            }
            #expect(status == .exited(0))
        }
    }

    @Test func aWatchThatDoesNotWaitToBeginWithWaitsLaterAndTheHelpSaysSo() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { daemon in
                let status = try await daemon.withStatectl(["watch", "--no-wait"]) { watch in
                    #expect(try await watch.next().contains("#0      ready(false)"))
                    try daemon.send(.kill)
                    #expect(try await watch.next().contains("  — gone: "))
                    _ = try await DaemonProcess.run(in: directory) { _ in
                        #expect(try await watch.next().hasSuffix("  — back"))
                        try watch.send(.terminate)
                    }
                }
                #expect(status == .signaled(15))
            }
        }
        for command in ["watch", "wait"] {
            let help = try await BuiltProduct.statectl.run([command, "--help"]).output
            let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains("if the daemon is not there at the start."))
        }
    }

    @Test func aStateThatLastsIsToldOfOnce() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = [
                "watch", "ready", "--json", "--stuck", "0.01", "--until", "authentication",
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                #expect(try JSONLine(try await watch.next()).type == "state")
                let stuck = try JSONLine(try await watch.next())
                #expect(stuck.type == "stuck")
                #expect(stuck.seq == 0)
                #expect(stuck.string("state") == "ready")
                _ = try await daemon.ask(\.control, "set ready value=true")
                #expect(try JSONLine(try await watch.next()).type == "change")
                #expect(try JSONLine(try await watch.next()).seq == 1)
                _ = try await daemon.ask(\.control, "set authentication phase=active")
            }
            #expect(status == .exited(0))
        }
    }

    @Test func aCommandIsRunForTheStateThatLastsAndForNoOther() async throws {
        try await DaemonProcess.run { daemon in
            _ = try await daemon.ask(\.control, "set authentication phase=idle")
            let arguments = [
                "watch", "--stuck", "200ms", "--until", "dataRetrieval", "--",
                "sh", "-c", "echo $STATEMACHINE_EVENT $STATEMACHINE_SEQ",
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                #expect(try await watch.next() == "stuck 1")
                _ = try await daemon.ask(\.control, "set ready value=true")
                #expect(try await watch.next() == "stuck 2")
                _ = try await daemon.ask(\.control, "set dataRetrieval phase=idle")
            }
            #expect(status == .exited(0))
        }
    }

    @Test(arguments: [false, true])
    func aWatchOfStaysLeavesUpdatesOut(isEach: Bool) async throws {
        let machine = """
            machine: lamp
            start: dark
            states:
              dark: {}
              dim: {fields: {level: integer}}
              bright: {}
            """
        try await DaemonProcess.run(machine: machine) { daemon in
            let cursor = try #require(try await daemon.ask(\.control, "get").string("cursor"))
            for words in ["set dim level=1", "update level=2", "update level=3", "set bright"] {
                let made = try await daemon.statectl(words.split(separator: " ").map(String.init))
                #expect(made.status == .exited(0), "\(made.errors)")
            }
            var arguments = ["watch", "--stays", "--since", cursor, "--count", "2"]
            arguments +=
                isEach
                ? [
                    "--each", "--exec", "sh", "-c",
                    #"echo "$STATEMACHINE_STATE $STATEMACHINE_SEQ""#,
                ]
                : ["--format", "{state} {seq}"]
            let watch = try await daemon.statectl(arguments)
            #expect(watch.output == "dim 1\nbright 4\n", "\(watch.errors)")
        }
    }
}

extension DaemonProcess {
    /// Returns when there are `count` watches.
    func awaitWatches(_ count: Int) async throws {
        let client = try self.connect(\.control)
        while true {
            let rows = try await client.ask("stats").items("connections") ?? []
            if rows.reduce(0, { $0 + ($1.int("watches") ?? 0) }) == count { return }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

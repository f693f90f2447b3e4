import Foundation
import Subprocess
import TestSupport
import Testing

/// What statectl shows in a format the user gives, and on terminals of any width.
@Suite(.bounded)
struct StatectlFormatTests {
    @Test
    func anAnswerIsShownAsAskedFor() async throws {
        try await DaemonProcess.run { daemon in
            _ = try await daemon.statectl("set", "authentication", "phase=active", "--cause", "x y")
            for words in [["get"], ["wait", "authentication"], ["history"]] {
                let format = "{state}/{phase} #{seq} {by.uid} {cause}"
                let shown = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory] + words + ["--format", format]
                )
                #expect(shown.output == "authentication/active #1 \(getuid()) x y\n", "\(words)")
                #expect(shown.status == .exited(0))
            }
            let wrong = try await daemon.statectl("get", "--format", "{state")
            #expect(wrong.status == .exited(2))
            let both = try await daemon.statectl("get", "--json", "--format", "{state}")
            #expect(both.status == .exited(2))
        }
    }

    @Test(arguments: [
        ("{nosuch}", "there is no field {nosuch}; known: state, seq"),
        ("{state} {phse}", "there is no field {phse}; did you mean phase?"),
        ("{by.usr}", "there is no field {by.usr}; known: uid, pid, comm, unit"),
    ])
    func aNameThatNothingHasIsAnError(format: String, sentence: String) async throws {
        try await DaemonProcess.run { daemon in
            for words in [["get"], ["wait", "ready"], ["history"], ["watch"]] {
                let shown = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory] + words + ["--format", format]
                )
                #expect(shown.status == .exited(2), "\(words)")
                #expect(shown.errors.contains(sentence), "\(shown.errors)")
                #expect(shown.output.isEmpty)
            }
        }
    }

    @Test
    func aFieldThatTheStateDoesNotHaveIsNothing() async throws {
        try await DaemonProcess.run { daemon in
            let shown = try await daemon.statectl("get", "--format", "[{phase}]")
            #expect(shown.output == "[]\n" && shown.status == .exited(0))
        }
    }

    @Test
    func whoeverDidNothingIsSaidToHaveDoneNothing() async throws {
        try await DaemonProcess.run { daemon in
            _ = try await daemon.statectl("set", "ready", "value=true")
            let none = try await daemon.statectl("history", "--by", "nosuch")
            #expect(none.output.isEmpty && none.status == .exited(0))
            #expect(none.errors.contains("there is no user \"nosuch\", and no command or unit"))
            let some = try await daemon.statectl("history", "--by", "statectl")
            #expect(!some.output.isEmpty && some.errors.isEmpty)
        }
    }

    @Test
    func aWatchThatIsShownAsAskedForIsEmptyWhileTheDaemonIsGone() async throws {
        try await withTemporaryDirectory { directory in
            let arguments = [
                "--runtime-directory", "\(directory)/run", "watch", "--format", "[{state}]",
            ]
            let status = try await StatectlProcess.run(arguments) { watch in
                _ = try await watch.next()
                _ = try await DaemonProcess.run(in: directory) { daemon in
                    #expect(try await watch.next() == "[ready]")
                    _ = try await daemon.ask(\.control, "set authentication phase=idle")
                    #expect(try await watch.next() == "[authentication]")
                }
                #expect(try await watch.next() == "[]")
                try FileManager.default.removeItem(atPath: "\(directory)/notify")
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let lines = [try await watch.next(), try await watch.next()]
                    #expect(lines.contains("[ready]"))
                    #expect(lines.contains { $0.contains("the daemon was restarted") })
                    try watch.send(.terminate)
                }
            }
            #expect(status == .signaled(15))
        }
    }

    @Test(arguments: [["--each", "--since", "start"], []])
    func aCommandHasOnItsInputWhatIsAskedFor(words: [String]) async throws {
        try await DaemonProcess.run { daemon in
            _ = try await daemon.statectl("set", "authentication", "phase=active", "--cause", "x y")
            let epoch = try await daemon.epoch()
            let begin = words.map { $0 == "start" ? "\(epoch):0" : $0 }
            let shown = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory, "watch", "--count", "1"] + begin
                    + ["--format", "{phase} of {state}, #{seq}", "--exec", "cat"]
            )
            #expect(shown.output.contains("active of authentication, #1\n"))
            #expect(shown.status == .exited(0))
        }
    }

    /// On a terminal that script(1) makes, and that reports its width.
    @Test(arguments: [40, 100])
    func noLineIsWiderThanTheTerminal(width: Int) async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            for phase in ["idle", "active", "success"] {
                let cause = String(repeating: "a long reason ", count: 8)
                let reply = try await client.ask(
                    #"{"op":"set","state":"authentication","data":{"phase":"\#(phase)"},"cause":"\#(cause)"}"#
                )
                #expect(reply.ok == true)
            }
            _ = try await client.hold("ready", #""why":"backup""#)
            let statectl =
                "\(try BuiltProduct.statectl.path) --runtime-directory \(daemon.directory)"
            for words in ["history", "watch --count 1", "stats", "status"] {
                let command = "stty cols \(width); \(statectl) --color never \(words)"
                let shown = try await runTool(.name("script"), ["-qec", command, "/dev/null"])
                let lines = shown.output.split(whereSeparator: \.isNewline)
                #expect(lines.count > 0)
                let tooLong = lines.filter { $0.count > width }
                #expect(tooLong == [], "\(words)")
            }
            client.vanish()
        }
    }

    /// However long the cause, and however narrow the terminal.
    @Test(arguments: [40, 60, 80, 100, 120])
    func whoDidItIsShownWhole(width: Int) async throws {
        try await DaemonProcess.run { daemon in
            let cause = String(repeating: "a long reason ", count: 8)
            for phase in ["idle", "active", "success"] {
                let set = try await daemon.statectl(
                    "set",
                    "authentication",
                    "phase=\(phase)",
                    "--cause",
                    cause
                )
                #expect(set.status == .exited(0))
            }
            let statectl =
                "\(try BuiltProduct.statectl.path) --runtime-directory \(daemon.directory)"
            let since = try await daemon.epoch() + ":0"
            for words in ["history", "watch --since \(since) --count 3"] {
                let command = "stty cols \(width); \(statectl) --color never \(words)"
                let shown = try await runTool(.name("script"), ["-qec", command, "/dev/null"])
                #expect(
                    shown.output.matches(of: /by \S+ \(statectl\)/).count == 3,
                    "\(shown.output)"
                )
            }
            let piped = try await daemon.statectl("history")
            #expect(piped.output.matches(of: /(a long reason ){7}a long reason/).count == 3)
        }
    }

    @Test(arguments: ["describe", "set ready maybe", "get --nosuch", "set --help", "wiat"])
    func whatIsSaidIsFoldedBetweenWords(words: String) async throws {
        try await DaemonProcess.run { daemon in
            let statectl =
                "\(try BuiltProduct.statectl.path) --runtime-directory \(daemon.directory)"
            let command = "stty cols 40; \(statectl) --color never \(words)"
            let shown = try await runTool(.name("script"), ["-qec", command, "/dev/null"])
            let lines = shown.output.split(whereSeparator: \.isNewline)
            #expect(lines.count > 1)
            // A longer word has a line of its own.
            let tooLong = lines.filter { $0.count > 40 && $0.drop { $0 == " " }.contains(" ") }
            #expect(tooLong == [])
            let piped = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory]
                    + words.split(separator: " ").map(String.init)
            )
            let whole = (piped.output + piped.errors).filter { !$0.isWhitespace }
            #expect(shown.output.filter { !$0.isWhitespace } == whole || words.hasSuffix("--help"))
        }
    }
}

import Foundation
import StateMachineSQLite
import Subprocess
import TestSupport
import Testing

/// statectl's commands that take part in decisions: hold, guard, release.
@Suite(.bounded) struct StatectlVotingTests {
    /// A lost terminal sends SIGHUP; whatever survives it must not run unheld.
    @Test(arguments: ["TERM", "HUP", "USR1", "ALRM", "QUIT"])
    func aHoldLastsUntilItsCommandHasEndedWhateverSignalComes(name: String) async throws {
        try await DaemonProcess.run { daemon in
            let fifo = try FIFO(beside: daemon.directory)
            let script = """
                trap 'echo asked; read go <"$0"; exit 9' \(name == "QUIT" ? "TERM" : name)
                echo begun
                tail -f /dev/null & wait $!
                """
            let arguments = ["hold", "--before", "ready", "--", "sh", "-c", script, fifo.path]
            let signals: [String: Signal] = [
                "TERM": .terminate, "HUP": .terminalClosed, "USR1": .userDefinedOne,
                "ALRM": .alarm, "QUIT": .quit,
            ]
            let signal = try #require(signals[name])
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(try await hold.next() == "begun")
                try hold.send(signal)
                // A terminal sends SIGQUIT to the command too; it is not passed on.
                if name == "QUIT" { try hold.send(.terminate) }
                #expect(try await hold.next() == "asked")
                let denied = try await daemon.ask(\.control, "set ready value=true")
                #expect(denied.error == "denied")
                try fifo.open()
            }
            #expect(status == .exited(9))
        }
    }

    /// What the tool opens for itself, its loop above all, is none of a command's; what the tool was given is.
    @Test(
        arguments: [
            "hold --before ready --", "watch --count 1 --exec",
        ],
        ["", "0<&-", "1>&-", "0<&- 1>&- 2>&-"]
    )
    func aCommandGetsTheDescriptorsThatTheToolWasGivenAndNoOthers(
        command: String,
        closed: String
    ) async throws {
        try await DaemonProcess.run { daemon in
            let list = "\(daemon.directory)/list"
            let script = """
                exec 7</dev/zero
                \(try BuiltProduct.statectl.path) --runtime-directory \(daemon.directory) \(command) \
                    sh -c 'readlink /proc/$$/fd/* >"$0"' \(list) \(closed)
                """
            _ = try await runTool(.name("sh"), ["-c", script])
            let open = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
            #expect(open.contains("/dev/zero"), "\(open)")
            #expect(!open.contains { $0.hasPrefix("anon_inode:") }, "\(open)")
        }
    }

    @Test func aHoldKeepsAStateOutWhileItWaitsForAnotherAndSaysForWhich() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = [
                "hold", "--before", "dataRetrieval", "--when", "authentication", "--when-not",
                "authentication:phase=idle", "--verbose", "--", "echo", "run",
            ]
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(
                    try await hold.next()
                        == "statectl: hold 1 is taken; changes to dataRetrieval are refused until echo ends"
                )
                #expect(
                    try await hold.next()
                        == "statectl: waiting until the state is authentication, and not authentication:phase=idle"
                )
                let client = try daemon.connect(\.control)
                #expect(try await client.ask("set dataRetrieval phase=idle").error == "denied")
                #expect(try await client.ask("set authentication phase=idle").ok == true)
                #expect(try await client.ask("set authentication phase=active").ok == true)
                #expect(try await hold.next() == "run")
            }
            #expect(status == .exited(0))
        }
    }

    /// The time is up when it is up, also where nobody answers.
    @Test func aHoldOfADaemonThatStandsStillGivesUpInTime() async throws {
        try await DaemonProcess.run { daemon in
            try daemon.send(.suspend)
            let late = try await daemon.statectl(
                ["hold", "--before", "authentication", "--when-not", "authentication"]
                    + ["--within", "50ms", "--", "echo", "run"]
            )
            try daemon.send(.resume)
            #expect(late.status == .exited(124) && late.output == "", "\(late.errors)")
        }
    }

    @Test(arguments: [Signal.terminate, .interrupt])
    func aHoldWithoutACommandLastsUntilItIsInterrupted(signal: Signal) async throws {
        try await DaemonProcess.run { daemon in
            let arguments = ["hold", "--before", "ready", "--verbose"]
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(
                    try await hold.next()
                        == "statectl: hold 1 is taken; changes to ready are refused until statectl is interrupted"
                )
                #expect(try await daemon.ask(\.control, "set ready value=true").error == "denied")
                try hold.send(signal)
            }
            #expect(status == .signaled(signal.rawValue))
            #expect(try await daemon.ask(\.control, "set ready value=true").ok == true)
        }
    }

    @Test(.enabled(if: getuid() == 0, "needs a second user"))
    func aHoldIsGivenBackByItsOwnerOnly() async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            let number = try await holder.hold("ready", #""why":"mine""#)
            try daemon.admitEverybody()
            let foreign = try await runTool(
                .name("setpriv"),
                DaemonProcess.foreign(65_534) + [
                    BuiltProduct.statectl.path, "--runtime-directory", daemon.directory,
                    "release", "\(number)",
                ]
            )
            #expect(foreign.status == .exited(77))
            #expect(
                foreign.errors.hasPrefix("statectl: hold \(number) belongs to user \(geteuid()); ")
            )
            #expect(try await daemon.ask(\.control, "set ready value=true").error == "denied")
            holder.vanish()
        }
    }

    /// A shell makes its background jobs ignore SIGINT.
    @Test(arguments: [SIGINT, SIGTERM])
    func aGuardInTheBackgroundEndsByASignal(signal: CInt) async throws {
        try await DaemonProcess.run { daemon in
            let guarding = try SpawnedProcess(
                [
                    "/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh",
                    try BuiltProduct.statectl.path, "--runtime-directory", daemon.directory,
                    "guard", "--before", "authentication", "--", "false",
                ],
                environment: [:],
                output: "\(daemon.directory)/guard.out"
            )
            let client = try daemon.connect(\.control)
            while try await client.ask("stats").items("guards")?.isEmpty != false {
                try await Task.sleep(for: .milliseconds(10))
            }
            guarding.send(signal)
            #expect(try await guarding.ended() == -signal)
            #expect(try await client.ask("set authentication phase=idle").ok == true)
            client.vanish()
        }
    }

    @Test func aGuardsCommandIsToldAndDecides() async throws {
        try await DaemonProcess.run { daemon in
            let script = """
                echo "$STATEMACHINE_STATE $STATEMACHINE_DATA $STATEMACHINE_TO $STATEMACHINE_TO_DATA"
                echo "$STATEMACHINE_BY_UID $STATEMACHINE_CAUSE ${STATEMACHINE_BY_PID:+pid} ${STATEMACHINE_LEFT_MS:+left}"
                cat
                test "$STATEMACHINE_CAUSE" = please || { echo "say please" >&2; exit 3; }
                """
            let arguments = [
                "guard", "--before", "authentication", "--timeout", "60", "--verbose", "--",
                "sh", "-c", script,
            ]
            let status = try await daemon.withStatectl(arguments) { voter in
                #expect(try await voter.next() == "statectl: guard 1 is registered; sh decides")
                let change = "ready(false) → authentication(phase: active)"
                for cause in ["now", "please"] {
                    let set = Task {
                        try await daemon.statectl(
                            "set",
                            "authentication",
                            "phase=active",
                            "--cause",
                            cause
                        )
                    }
                    #expect(try await voter.next() == "statectl: asked about \(change)")
                    #expect(
                        try await voter.next()
                            == #"ready {"value":false} authentication {"phase":"active"}"#
                    )
                    #expect(try await voter.next() == "\(getuid()) \(cause) pid left")
                    let line = try JSONLine(try await voter.next())
                    #expect(line.type == "ask")
                    #expect(line.item("to")?.state == "authentication")
                    let answer = try await set.value
                    switch cause {
                    case "please":
                        #expect(try await voter.next() == "statectl: allowed \(change)")
                        #expect(answer.status == .exited(0))
                    default:
                        #expect(try await voter.next() == "say please")
                        #expect(try await voter.next() == "statectl: denied \(change): say please")
                        #expect(answer.status == .exited(1))
                        #expect(answer.errors.hasSuffix("): say please\n"), "\(answer.errors)")
                    }
                }
                try voter.send(.terminate)
            }
            #expect(status == .signaled(15))
            #expect(try await daemon.ask(\.control, "set authentication phase=idle").ok == true)
        }
    }

    /// Counted from the entry, not from the last change, while no change has left it; in a history
    /// whose times are moved back.
    @Test func whatHasLastedOverChangesIsKnownFromTheHistory() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                let client = try daemon.connect(\.control)
                _ = try await client.ask("set dataRetrieval phase=active")
                _ = try await client.ask("set authentication phase=active")
                _ = try await client.ask("set authentication phase=success")
            }
            // Six, four and two hours ago.
            try Database("\(directory)/state/statemachine.sqlite")
                .execute("UPDATE change SET at = at - (4 - seq) * 7200000000")
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                for (words, code) in [
                    (["authentication", "--for", "3h"], 0 as CInt),
                    (["authentication", "--for", "5h"], 1), (["!ready", "--for", "5h"], 0),
                    // What was before the first change is unknown.
                    (["!ready", "--for", "7h"], 1),
                    (["authentication:phase=success", "--for", "1h"], 0),
                    (["authentication:phase=success", "--for", "3h"], 1),
                    (["authentication", "!authentication:phase=active", "--for", "3h"], 1),
                    (["authentication", "dataRetrieval", "--for", "5h"], 0),
                ] {
                    let answer = try await daemon.statectl(["is"] + words)
                    #expect(answer.status == .exited(code), "\(words) \(answer.errors)")
                }
                let client = try daemon.connect(\.control)
                _ = try await client.ask("set ready value=true")
                _ = try await client.ask("set authentication phase=idle")
                let broken = try await daemon.statectl("is", "authentication", "--for", "1h")
                #expect(broken.status == .exited(1))
                let kept = try await daemon.statectl("is", "authentication", "ready", "--for", "3h")
                #expect(kept.status == .exited(0))
            }
        }
    }
}

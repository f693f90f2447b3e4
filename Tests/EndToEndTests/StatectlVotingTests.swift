import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl's commands that take part in decisions: hold, guard, release.
@Suite(.bounded)
struct StatectlVotingTests {
    @Test
    func aHoldLastsAsLongAsItsCommandAndEndsWithItsStatus() async throws {
        try await DaemonProcess.run { daemon in
            let fifo = try FIFO(beside: daemon.directory)
            let arguments = [
                "hold", "--before", "ready", "--why", "backup runs", "--",
                "sh", "-c", #"echo begun; read go <"$0"; exit 7"#, fifo.path,
            ]
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(try await hold.next() == "begun")
                let denied = try await daemon.statectl("set", "ready", "value=true")
                #expect(denied.status == .exited(1))
                #expect(
                    denied.errors.hasPrefix("statectl: denied by hold 1 of "),
                    "\(denied.errors)"
                )
                #expect(denied.errors.hasSuffix("): backup runs\n"), "\(denied.errors)")
                let other = try await daemon.statectl("set", "authentication", "phase=active")
                #expect(other.status == .exited(0))
                try fifo.open()
            }
            #expect(status == .exited(7))
            #expect(try await daemon.statectl("set", "ready", "value=true").status == .exited(0))
        }
    }

    @Test(arguments: [("kill -KILL $$", 137), ("exec /no/such/command", 127)])
    func aHoldEndsAsAShellWouldSayThatItsCommandDid(script: String, code: CInt) async throws {
        try await DaemonProcess.run { daemon in
            let ended = try await daemon.statectl(
                "hold",
                "--before",
                "ready",
                "--",
                "sh",
                "-c",
                script
            )
            #expect(ended.status == .exited(code))
            let missing = try await daemon.statectl("hold", "--before", "ready", "--", "/no/such")
            #expect(missing.status == .exited(127))
            #expect(missing.errors == "statectl: there is no command /no/such\n")
        }
    }

    @Test
    func sigtermReachesTheCommandAndTheHoldLastsUntilThatHasDrawnItsConsequences() async throws {
        try await DaemonProcess.run { daemon in
            let fifo = try FIFO(beside: daemon.directory)
            let script = """
                trap 'echo asked; read go <"$0"; exit 9' TERM
                echo begun
                tail -f /dev/null & wait $!
                """
            let arguments = ["hold", "--before", "ready", "--", "sh", "-c", script, fifo.path]
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(try await hold.next() == "begun")
                try hold.send(.terminate)
                #expect(try await hold.next() == "asked")
                let denied = try await daemon.ask(\.control, "set ready value=true")
                #expect(denied.error == "denied")
                try fifo.open()
            }
            #expect(status == .exited(9))
        }
    }

    /// A lost terminal sends SIGHUP; whatever survives it must not run unheld.
    @Test(arguments: ["HUP", "USR1", "ALRM", "QUIT"])
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
                "HUP": .terminalClosed, "USR1": .userDefinedOne, "ALRM": .alarm, "QUIT": .quit,
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

    @Test(arguments: [
        ["--when-not", "ready:value=true", "--within", "0"],
        ["--when", "ready", "--when-not", "ready:value=true", "--within", "1ms"],
    ])
    func aHoldLooksAtTheStateHoweverLittleTimeThereIs(condition: [String]) async throws {
        try await DaemonProcess.run { daemon in
            let hold = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory, "hold", "--before", "authentication"]
                    + condition + ["--", "echo", "run"]
            )
            #expect(hold.status == .exited(0), "\(hold.errors)")
            #expect(hold.output == "run\n")
        }
    }

    @Test
    func aHoldWaitsForAStateAndSaysForWhich() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = [
                "hold", "--before", "dataRetrieval", "--when", "authentication", "--when-not",
                "authentication:phase=idle", "--verbose", "--", "echo", "run",
            ]
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(try await hold.next().hasPrefix("statectl: hold 1 is taken"))
                #expect(
                    try await hold.next()
                        == "statectl: waiting until the state is authentication, and not authentication:phase=idle"
                )
                let client = try daemon.connect(\.control)
                #expect(try await client.ask("set authentication phase=idle").ok == true)
                #expect(try await client.ask("set authentication phase=active").ok == true)
                #expect(try await hold.next() == "run")
            }
            #expect(status == .exited(0))
        }
    }

    /// The time is up when it is up, also where nobody answers.
    @Test
    func aHoldOfADaemonThatStandsStillGivesUpInTime() async throws {
        try await DaemonProcess.run { daemon in
            try daemon.send(.suspend)
            let late = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory, "hold", "--before", "authentication"]
                    + ["--when-not", "authentication", "--within", "50ms", "--", "echo", "run"]
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

    @Test
    func aHoldIsGivenBackByItsNumberAndByItsOwnerOnly() async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            let number = try await holder.hold("ready", #""why":"mine""#)
            if getuid() == 0 {
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
                    foreign.errors.hasPrefix(
                        "statectl: hold \(number) belongs to user \(geteuid()); "
                    )
                )
            }
            #expect(try await daemon.ask(\.control, "set ready value=true").error == "denied")
            let released = try await daemon.statectl("release", "\(number)")
            #expect(released.status == .exited(0))
            #expect(try await daemon.ask(\.control, "set ready value=true").ok == true)
            let again = try await daemon.statectl("release", "\(number)")
            #expect(again.status == .exited(1))
            #expect(again.errors == "statectl: there is no hold or guard \(number)\n")
            holder.vanish()
        }
    }

    @Test func aHoldThatWaitsForAStateToGoGivesUpAfterItsTime() async throws {
        try await DaemonProcess.run { daemon in
            let words = ["hold", "--before", "authentication", "--when-not", "ready", "--within"]
            let late = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory] + words + ["50ms", "--", "echo", "run"]
            )
            #expect(late.status == .exited(124))
            #expect(late.output == "")
            #expect(late.errors.contains("the command is not run"))
            // The hold has been released.
            let set = try await daemon.statectl("set", "authentication", "phase=idle")
            #expect(set.status == .exited(0), "\(set.errors)")
            let inTime = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory, "hold", "--before", "dataRetrieval"]
                    + ["--when-not", "ready", "--within", "1min", "--", "echo", "run"]
            )
            #expect(inTime.status == .exited(0))
            #expect(inTime.output == "run\n")
            let alone = try await daemon.statectl(
                "hold",
                "--before",
                "ready",
                "--within",
                "1s",
                "--",
                "true"
            )
            #expect(alone.status == .exited(2))
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

    @Test
    func aGuardsCommandIsToldAndDecides() async throws {
        try await DaemonProcess.run { daemon in
            let script = """
                echo "$STATEMACHINE_STATE $STATEMACHINE_DATA $STATEMACHINE_TO $STATEMACHINE_TO_DATA"
                echo "$STATEMACHINE_BY_UID $STATEMACHINE_CAUSE"
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
                    #expect(try await voter.next() == "\(getuid()) \(cause)")
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
                        #expect(
                            try await voter.next() == "statectl: denied \(change): say please"
                        )
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

    @Test(arguments: [(["--why", "closed"], "): closed\n"), ([], ")\n")])
    func aGuardWhoseCommandSaysNothingGivesItsOwnReasonOrNone(
        why: [String],
        end: String
    ) async throws {
        try await DaemonProcess.run { daemon in
            let arguments =
                ["guard", "--before", "ready", "--timeout", "60", "--verbose"] + why
                + ["--", "false"]
            let status = try await daemon.withStatectl(arguments) { voter in
                #expect(try await voter.next() == "statectl: guard 1 is registered; false decides")
                let denied = try await daemon.statectl("set", "ready", "value=true")
                #expect(denied.status == .exited(1))
                #expect(denied.errors.hasPrefix("statectl: denied by guard 1 of "))
                #expect(denied.errors.hasSuffix(end), "\(denied.errors)")
                try voter.send(.terminate)
            }
            #expect(status == .signaled(15))
        }
    }
}

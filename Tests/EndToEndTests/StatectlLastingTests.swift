import StateMachineSQLite
import Subprocess
import TestSupport
import Testing

/// statectl's waits for durations and for negated states: wait --for, is --for, hold --when-not.
@Suite(.bounded)
struct StatectlLastingTests {
    @Test
    func aWaitEndsWhenTheStateHasLasted() async throws {
        try await DaemonProcess.run { daemon in
            let lasted = try await daemon.statectl("wait", "ready", "--for", "0.01")
            #expect(lasted.status == .exited(0))
            #expect(lasted.output.hasPrefix("ready(false)"))
            let long = try await daemon.statectl(
                "wait",
                "ready",
                "--for",
                "3600",
                "--timeout",
                "0.1"
            )
            #expect(long.status == .exited(124))
            let failed = try await daemon.statectl(
                "wait",
                "authentication",
                "--for",
                "3600",
                "--fail",
                "ready"
            )
            #expect(failed.status == .exited(1))
            #expect(
                failed.errors == "statectl: reached ready(false), which counts as failure\n"
            )
            // An error is reported at once, however long the wait would have been.
            let words = ["wait", "rady", "--for", "3600", "--timeout", "3600"]
            let typo = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory] + words
            )
            #expect(typo.status == .exited(2))
            let missing = ["hold", "--before", "ready", "--when-not", "ready", "--", "nosuchcmd"]
            let unheld = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory] + missing
            )
            #expect(unheld.status == .exited(127))
        }
    }

    @Test
    func aStateIsAskedForItsAge() async throws {
        try await DaemonProcess.run { daemon in
            for (words, code) in [
                (["ready", "--for", "0.000001"], 0 as CInt), (["ready", "--for", "3600"], 1),
                (["authentication", "--for", "0"], 1),
            ] {
                let answer = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory, "is"] + words
                )
                #expect(answer.status == .exited(code), "\(words)")
            }
        }
    }

    /// Counted from the entry, not from the last change, while no change has left it; in a history
    /// whose times are moved back.
    @Test
    func whatHasLastedOverChangesIsKnownFromTheHistory() async throws {
        try await withTemporaryDirectory { directory in
            let durable = ["--state-directory", "\(directory)/state"]
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
                let client = try daemon.connect(\.control)
                _ = try await client.ask("set dataRetrieval phase=active")
                _ = try await client.ask("set authentication phase=active")
                _ = try await client.ask("set authentication phase=success")
            }
            // Six, four and two hours ago.
            try Database("\(directory)/state/statemachine.sqlite")
                .execute("UPDATE change SET at = at - (4 - seq) * 7200000000")
            _ = try await DaemonProcess.run(in: directory, arguments: durable) { daemon in
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
                    let answer = try await BuiltProduct.statectl.run(
                        ["--runtime-directory", daemon.directory, "is"] + words
                    )
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

    @Test
    func aHoldKeepsAStateOutWhileItWaitsForItToEnd() async throws {
        try await DaemonProcess.run { daemon in
            _ = try await daemon.ask(\.control, "set authentication phase=active")
            let arguments = [
                "hold", "--before", "authentication", "--when-not", "authentication", "--verbose",
                "--", "echo", "begun",
            ]
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(
                    try await hold.next()
                        == "statectl: hold 1 is taken; changes to authentication are refused until echo ends"
                )
                let denied = try await daemon.ask(\.control, "set authentication phase=idle")
                #expect(denied.error == "denied")
                #expect(
                    try await hold.next()
                        == "statectl: waiting until the state is not authentication"
                )
                _ = try await daemon.ask(\.control, "set ready value=true")
                #expect(try await hold.next() == "begun")
            }
            #expect(status == .exited(0))
        }
    }

    @Test
    func aCommandUnderAHoldBeginsAtOnceWhereNothingIsInItsWay() async throws {
        try await DaemonProcess.run { daemon in
            let ended = try await daemon.statectl(
                "hold",
                "--before",
                "authentication",
                "--when-not",
                "authentication",
                "dataRetrieval",
                "--",
                "echo",
                "begun"
            )
            #expect(ended.status == .exited(0))
            #expect(ended.output == "begun\n")
            let typo = try await daemon.statectl(
                "hold",
                "--before",
                "ready",
                "--when-not",
                "rady",
                "--",
                "echo",
                "begun"
            )
            #expect(typo.status == .exited(2))
            #expect(typo.output == "")
        }
    }
}

import Foundation
import StateMachineSQLite
import Subprocess
import TestSupport
import Testing

/// Required guards: while they are not connected, what they guard is denied.
@Suite(.bounded) struct RequiredGuardTests {
    private static let on = "ready:value=true"
    private static let required = #""timeoutMs":60000,"required":"display""#

    /// Registers a required guard whose client then vanishes.
    private static func leave(_ daemon: DaemonProcess, _ pattern: String = on) async throws {
        let voter = try daemon.connect(\.control)
        _ = try await voter.guard("g", pattern, Self.required)
        voter.vanish()
    }

    /// Sets until it is denied because the guard is missing, so the daemon has noticed its end.
    private static func denied(_ daemon: DaemonProcess) async throws -> JSONLine {
        while true {
            let reply = try await daemon.ask(\.control, "set ready value=true")
            if reply.error == "denied" { return reply }
            try await Self.back(daemon)
        }
    }

    private static func back(_ daemon: DaemonProcess) async throws {
        _ = try await daemon.ask(\.control, "set ready value=false")
    }

    @Test func sinceWhenItIsMissingIsKeptOverTwoCrashes() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                let voter = try daemon.connect(\.control)
                _ = try await voter.guard("g", Self.on, Self.required)
                try daemon.send(.kill)
                #expect(try await voter.nextLine() == nil)
            }
            let times = Recorder<String?>()
            for _ in 1...2 {
                _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                    // Once a set is answered, everything recorded before it is on the disk.
                    #expect(try await daemon.ask(\.control, "set ready value=false").ok == true)
                    let stats = try await daemon.ask(\.control, "stats")
                    times.record(stats.items("guards")?.first?.string("missing"))
                    try daemon.send(.kill)
                }
            }
            let told = times.heard
            #expect(told.count == 2 && told[0] != nil && told[0] == told[1])
        }
    }

    @Test func whatCannotBeReadAnyMoreDeniesEverythingUntilItIsReleased() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                try await Self.leave(daemon)
                _ = try await Self.denied(daemon)
            }
            do {
                let history = try Database("\(directory)/state/statemachine.sqlite")
                try history.execute("UPDATE kept SET request = '{\"op\":\"guard\",\"befo'")
                try #require(history.changes == 1)
            }
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                for set in ["set ready value=true", "set authentication phase=active"] {
                    let denied = try await daemon.ask(\.control, set)
                    #expect(denied.error == "denied")
                    #expect(denied.items("by")?.first?.string("required") == "display")
                }
                let release = #"{"op":"release","required":"display"}"#
                #expect(try await daemon.ask(\.control, release).ok == true)
                #expect(try await daemon.ask(\.control, "set ready value=true").ok == true)
            }
            // Nothing of it is left for the next daemon either.
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                let set = try await daemon.ask(\.control, "set ready value=false")
                #expect(set.ok == true)
            }
        }
    }

    @Test(arguments: [false, true])
    func withoutAHistoryTheNextProcessTakesItUp(isConnected: Bool) async throws {
        try await withService { service, first in
            let voter = try first.connect(\.control)
            _ = try await voter.guard("g", Self.on, Self.required)
            let setter = try first.connect(\.control)
            if !isConnected {
                voter.vanish()
                repeat {
                    _ = try await setter.ask("set ready value=false")
                    try setter.send("set ready value=true")
                } while try await setter.next().error != "denied"
                setter.vanish()
            }
            let second = try await service.restart(first)
            let again = try second.connect(\.control)
            try again.send("set ready value=true")
            if isConnected {
                let ask = try await voter.next()
                #expect(ask.type == "ask")
                #expect(try await voter.vote(ask, true).ok == true)
                #expect(try await again.next().bool("changed") == true)
            } else {
                let denied = try await again.next()
                #expect(denied.items("by")?.first?.string("required") == "display")
            }
            try await second.end()
        }
    }

    @Test func ownMovesOfADeclaredMachineAreDeniedUntilItIsReleased() async throws {
        let text = """
            start: dark
            events: {press: {}}
            states:
              dark: {when: {press: bright}}
              bright: {after: {200ms: dark}}
            """
        try await DaemonProcess.run(machine: text) { daemon in
            try await Self.leave(daemon, "dark")
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            _ = try await daemon.ask(\.control, "send press")
            #expect(try await watch.next().state == "bright")
            let overdue = #"{"op":"wait","until":["dark"],"timeoutMs":1000}"#
            #expect(try await daemon.ask(\.control, overdue).error == "timeout")
            let release = #"{"op":"release","required":"display"}"#
            #expect(try await daemon.ask(\.control, release).ok == true)
            #expect(try await watch.next().state == "dark")
        }
    }

    @Test func oneMoreThanThereMayBeIsRefusedWithWhatToDo() async throws {
        try await DaemonProcess.run { daemon in
            for connection in 0..<8 {
                let voter = try daemon.connect(\.control)
                for guarding in 0..<8 {
                    _ = try await voter.guard(
                        "g\(guarding)",
                        "ready",
                        #""required":"n\#(connection)-\#(guarding)""#
                    )
                }
                voter.vanish()
            }
            let one = #"{"op":"guard","before":["ready"],"required":"one-more"}"#
            let refused = try await daemon.ask(\.control, one)
            #expect(refused.error == "limit")
            #expect(
                refused.string("message")
                    == "there are already 64 required guards and named holds, the most that are allowed; "
                    + "release one by its name"
            )
            // One of the known names is registered again.
            let known = #"{"op":"guard","before":["ready"],"required":"n0-0"}"#
            #expect(try await daemon.ask(\.control, known).ok == true)
        }
    }

    @Test(arguments: [false, true])
    func itFollowsAStateThatIsRenamedAndIsKeptSo(isMissing: Bool) async throws {
        let text = "start: a\nstates: {a: {}, b: {}}\n"
        try await withService(machine: text, isDurable: true) { machine, daemon in
            let guardian = try daemon.connect(\.control)
            _ = try await guardian.guard("g", "b", Self.required)
            if isMissing { guardian.vanish() }
            try await machine.reload(daemon, "start: a\nstates: {a: {}, d: {was: b}}\n")
            try await machine.reload(daemon, "start: a\nstates: {a: {}, d: {}}\n")
            if !isMissing { guardian.vanish() }
            #expect(try await daemon.connect(\.control).ask("set d").error == "denied")
            #expect(try await daemon.end() == 0)
            let next = try await machine.start()
            #expect(try await next.connect(\.control).ask("set d").error == "denied")
            #expect(try await next.end() == 0)
        }
    }

    /// A connection has one such write under way, however many requests it sends at once.
    @Test func whatIsAskedForInOneGoIsKeptOneAfterTheOther() async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            let client = try daemon.connect(\.control)
            let both =
                #"{"op":"guard","before":"ready","required":"x"}"# + "\n"
                + #"{"op":"release","required":"x"}"#
            for _ in 1...50 { try client.send(both) }
            // It waits for what was sent before it, not for all of it.
            let start = try await daemon.ask(\.control, "set authentication phase=active")
            #expect(start.bool("changed") == true)
            var last: Int?
            for _ in 1...50 {
                let number = try await client.next().int("guard")
                #expect((number ?? 0) > (last ?? 0))
                last = number
                #expect(try await client.next().ok == true)
            }
        }
    }

    @Test func aReleaseIsAnsweredThoughItsClientSendsNoMore() async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            try await Self.leave(daemon)
            _ = try await Self.denied(daemon)
            let client = try daemon.connect(\.control)
            try client.send(#"{"op":"release","id":"last","required":"display"}"#)
            client.endInput()
            #expect(try await client.next().string("id") == "last")
            #expect(try await client.nextLine() == nil)
        }
    }
}

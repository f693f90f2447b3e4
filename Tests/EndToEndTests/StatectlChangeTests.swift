import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl's commands that change something: how long they try, and when they give up.
@Suite(.bounded) struct StatectlChangeTests {
    /// Nothing changes when the guard changes its mind, so that only the pauses can be what has it asked again.
    @Test func aChangeThatIsDeniedIsTriedAgainAndEndsAsItIsTaken() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.guard("g", "ready", #""timeoutMs":60000"#)
            let arguments = ["set", "ready", "true", "--wait", "1h"]
            let status = try await daemon.withStatectl(arguments) { set in
                for _ in 0..<3 {
                    let ask = try await voter.next()
                    #expect(try await voter.vote(ask, false, "not yet").ok == true)
                }
                let ask = try await voter.next()
                #expect(try await voter.vote(ask, true).ok == true)
                #expect(try await set.next().hasPrefix("ready(true)"))
            }
            #expect(status == .exited(0))
        }
    }

    @Test func whoStoodAgainstAChangeIsToldWhenItsTimeIsUp() async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            _ = try await holder.hold("ready", #""why":"backup runs""#)
            let set = ["set", "ready", "true"]
            let text = try await daemon.statectl(set + ["--wait", "300ms"])
            #expect(text.status == .exited(124) && text.output.isEmpty)
            let start = "statectl: not done within 300 ms: denied by hold 1 of "
            #expect(text.errors.hasPrefix(start), "\(text.errors)")
            #expect(text.errors.hasSuffix(": backup runs\n"), "\(text.errors)")
            let json = try await daemon.statectl(set + ["--wait", "0", "--json"])
            #expect(json.status == .exited(124) && json.errors.isEmpty)
            #expect(try JSONLine(json.output).items("by")?.first?.string("why") == "backup runs")
            // What waiting does not help is no matter of time.
            let other = ["--wait", "1h", "--if-state", "authentication"]
            let conflict = try await daemon.statectl(set + other)
            #expect(conflict.status == .exited(1))
        }
    }

    /// Each daemon without a history begins a numbering of its own.
    @Test func aStayIsNamedByItsCursorInItsOwnNumberingOnly() async throws {
        let machine = """
            start: idle
            states: {idle: {fields: {count: {type: integer, default: 0}}}}
            """
        try await withTemporaryDirectory { directory in
            let stay = Recorder<String>()
            _ = try await DaemonProcess.run(in: directory, machine: machine) { daemon in
                let got = try await daemon.statectl("get", "--format", "{stayCursor}")
                stay.record(got.output.trimmingCharacters(in: .newlines))
                // An update continues the stay.
                for _ in 0..<2 {
                    let own = ["update", "count+=1", "--if-stay", try #require(stay.heard.first)]
                    #expect(try await daemon.statectl(own).status == .exited(0))
                }
            }
            _ = try await DaemonProcess.run(in: directory, machine: machine) { daemon in
                let cursor = try #require(stay.heard.first)
                #expect(cursor.hasSuffix(":0"))
                for option in ["--if-stay", "--if-seq"] {
                    let late = try await daemon.statectl("update", "count+=1", option, cursor)
                    #expect(late.status == .exited(1), "\(option) \(late.output)\(late.errors)")
                }
                let number = try await daemon.statectl("update", "count+=1", "--if-stay", "0")
                #expect(number.status == .exited(0))
            }
        }
    }

    /// What was asked for may happen as soon as the daemon continues, and reading changes nothing.
    @Test func whoChangesSomethingOfADaemonThatStandsStillIsToldThatItMayHappen() async throws {
        let machine = """
            start: idle
            events: {press: {}}
            states: {idle: {fields: {count: {type: integer, default: 0}}, when: {press: stay}}}
            """
        try await DaemonProcess.run(machine: machine, isDurable: true) { daemon in
            try daemon.send(.suspend)
            let commands: [(words: [String], doubt: String)] = [
                (["set", "idle"], "the state may or may not have been changed: statectl get"),
                (["send", "press"], "the state may or may not have been changed: statectl get"),
                (
                    ["update", "count+=1"],
                    "the state may or may not have been changed: statectl get"
                ),
                (["release", "1"], "it may or may not have been given back: statectl status"),
                (
                    ["hold", "--before", "idle", "--as", "x", "--max", "1h"],
                    "the hold may or may not be taken: statectl status"
                ),
                (["reload"], "the files may or may not have been read again: statectl describe"),
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for command in commands {
                    group.addTask {
                        let ended = try await daemon.statectl(command.words)
                        #expect(ended.status == .exited(75), "\(command.words)")
                        let text = " has not answered for 10 s; is it stopped? "
                        #expect(ended.errors.contains(text), "\(ended.errors)")
                        #expect(ended.errors.hasSuffix("; \(command.doubt)\n"), "\(ended.errors)")
                    }
                }
                group.addTask {
                    let ended = try await daemon.statectl("get")
                    #expect(ended.status == .exited(69))
                    #expect(ended.errors.contains(" has not answered for 10 s; "))
                }
                try await group.waitForAll()
            }
            try daemon.send(.resume)
        }
    }
}

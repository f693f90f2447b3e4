import Foundation
import Subprocess
import TestSupport
import Testing

/// Clients' votes, over real sockets.
@Suite(.bounded) struct GuardTests {
    private static let patient = #""timeoutMs":60000"#

    /// With a history, a guard is answered once it is recorded; a set may come in between.
    @Test func aGuardHasItsAnswerBeforeItsFirstQuestion() async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            let setter = try daemon.connect(\.control)
            let voter = try daemon.connect(\.control)
            #expect(try await setter.ask("ping").ok == true)
            #expect(try await voter.ask("ping").ok == true)
            try await Self.inOneTurn(of: daemon) {
                try voter.send(#"{"op":"guard","before":["ready"],\#(Self.patient)}"#)
                try setter.send("set ready value=true")
            }
            let reply = try await voter.next()
            #expect(reply.type == "reply" && reply.has("guard"), "\(reply)")
            // The set may have been first after all.
            let next = try await setter.ask("ping")
            guard next.type != "reply" || !next.has("changed") else { return }
            #expect(try await voter.vote(try await voter.next(), true).ok == true)
        }
    }

    /// With a history, everything that arrives in one turn of the loop is committed together at its
    /// end.
    @Test func aSetBeforeAGuardIsNotAskedAboutThoughBothComeInOneTurn() async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            let setter = try daemon.connect(\.control)
            let voter = try daemon.connect(\.control)
            // The setter last: it has to come first, and the kernel may still have it in its
            // ready list.
            #expect(try await voter.ask("ping").ok == true)
            #expect(try await setter.ask("ping").ok == true)
            try await Self.inOneTurn(of: daemon) {
                try setter.send(raw: "set ready value=true\nping\n")
                try voter.send(#"{"op":"guard","before":["ready"],\#(Self.patient)}"#)
            }
            #expect(try await setter.next().bool("changed") == true)
            #expect(try await setter.next().ok == true)
            #expect(try await voter.next().has("guard"))
            try setter.send("set ready value=false")
            let ask = try await voter.next()
            #expect(ask.type == "ask" && ask.seq == 1)
        }
    }

    /// Has what is sent find the daemon stopped, so that it reads it all in one turn of its loop.
    private static func inOneTurn(
        of daemon: DaemonProcess,
        _ send: () throws -> Void
    ) async throws {
        try daemon.send(.suspend)
        while try !Self.isStopped(daemon.pid) { await Task.yield() }
        try send()
        try daemon.send(.resume)
    }

    private static func isStopped(_ process: Int32) throws -> Bool {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return text.split(separator: ")").last?.hasPrefix(" T") == true
    }

    @Test func aSilentGuardDelaysItsSetAndThoseBehindItButNoReader() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.guard("g", "authentication", #""timeoutMs":60000"#)
            let setter = try daemon.connect(\.control)
            let reader = try daemon.connect(\.control)
            var text = #"{"op":"set","id":"1","state":"authentication","data":{"phase":"idle"}}"#
            text += "\n" + #"{"op":"set","id":"2","state":"ready","data":{"value":true}}"# + "\n"
            for _ in 1...20 { text += #"{"op":"get","id":"get"}"# + "\n" }
            try setter.send(raw: text)
            #expect(try await voter.next().type == "ask")
            try reader.send(raw: String(repeating: "get\n", count: 30))
            for _ in 1...30 { #expect(try await reader.next().seq == 0) }
            for _ in 1...20 {
                let line = try await setter.next()
                #expect(line.string("id") == "get")
                #expect(line.seq == 0)
            }
            // Only now may the sets go on; another test shows that a deadline releases them too.
            voter.vanish()
            for id in 1...2 {
                let line = try await setter.next()
                #expect(line.string("id") == "\(id)")
                #expect(line.bool("changed") == true)
                #expect(line.seq == id)
            }
        }
    }

    @Test func aSetWhoseSetterVanishedIsStillDecided() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.guard("g", "ready", Self.patient)
            let watcher = try daemon.connect(\.events)
            #expect(try await watcher.next().seq == 0)
            let setter = try daemon.connect(\.control)
            try setter.send("set ready value=true")
            let ask = try await voter.next()
            setter.vanish()
            #expect(try await voter.vote(ask, true).ok == true)
            #expect(try await watcher.next().seq == 1)
        }
    }

    @Test func aSetThatWaitsBehindAVoteIsWithdrawnWhenItsSetterVanishes() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            let states = #"ready","authentication","dataRetrieval"#
            _ = try await voter.guard("g", states, Self.patient)
            let setter = try daemon.connect(\.control)
            try setter.send("set ready value=true\nset authentication phase=active")
            let ask = try await voter.next()
            #expect(ask.item("to")?.state == "ready")
            let other = try daemon.connect(\.control)
            #expect(try await other.ask("ping").ok == true)
            setter.vanish()
            // By the end of these the daemon has seen the setter vanish.
            for _ in 1...5 { #expect(try await other.ask("ping").ok == true) }
            try other.send("set dataRetrieval phase=idle")
            #expect(try await voter.vote(ask, true).ok == true)
            let next = try await voter.next()
            #expect(next.item("to")?.state == "dataRetrieval")
            #expect(try await voter.vote(next, true).ok == true)
            #expect(try await other.next().seq == 2)
        }
    }

    /// A hold is not asked, so it cannot vote.
    @Test func noVoteLetsASetPastTheVotersOwnHold() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            let hold = #"{"op":"hold","before":["ready"],"mode":"delay","maxMs":60000}"#
            let number = try #require(try await voter.ask(hold).int("hold"))
            let setter = try daemon.connect(\.control)
            try setter.send("set ready value=true")
            for _ in 1...5 { #expect(try await voter.ask("ping").seq == 0) }
            for question in [0, number] {
                let vote = #"{"op":"vote","ask":\#(question),"allow":true}"#
                #expect(try await voter.ask(vote).error == "not-found")
            }
            #expect(try await voter.ask("get").seq == 0)
            #expect(try await voter.ask("release \(number)").ok == true)
            #expect(try await setter.next().bool("changed") == true)
        }
    }

    @Test func aGuardThatWasSilentIsNotAskedAnyLonger() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.guard("g", "ready", #""timeoutMs":1,"onTimeout":"deny""#)
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("set ready value=true").error == "denied")
            let row = try #require(try await setter.ask("stats").items("guards")?.first)
            #expect(!row.has("isAsked"), "\(row)")
        }
    }

    @Test func aGuardIsAskedAboutASetRightBehindOneThatAHoldDenied() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.guard("g", #"ready","authentication"#, Self.patient)
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask(#"{"op":"hold","before":["ready"]}"#).ok == true)
            try setter.send("set ready value=true\nset authentication phase=active")
            #expect(try await setter.next().error == "denied")
            var ask = try await voter.next()
            while ask.item("to")?.state != "authentication" { ask = try await voter.next() }
            #expect(try await voter.vote(ask, false, "asked").ok == true)
            #expect(try await setter.next().items("by")?.first?.string("why") == "asked")
        }
    }
}

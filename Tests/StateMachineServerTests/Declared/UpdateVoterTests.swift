import TestSupport
import Testing

/// Holds and guards are asked about an update that makes one of their patterns match, and about no other.
@Suite(.bounded) struct UpdateVoterTests {
    private static let machine = """
        start: closed
        to: []
        events: {arm: {}, knock: {}, rest: {}}
        states:
          closed:
            fields: {armed: {type: boolean, default: false}, tries: {type: integer, default: 0}}
            when: {arm: closed armed=true, knock: again, rest: stay}
        """

    private static let arm = #"{"op":"update","data":{"armed":true}}"#
    private static let disarm = #"{"op":"update","data":{"armed":false}}"#

    private static func run(
        _ body: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        try await DeclaredDaemon.run(Self.machine, body)
    }

    private static func tries(_ tries: Int) -> String {
        #"{"op":"update","data":{"tries":\#(tries)}}"#
    }

    private static func hold(_ patterns: String...) -> String {
        let before = patterns.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"op":"hold","before":[\#(before)],"why":"held"}"#
    }

    @Test func aHoldDeniesAnUpdateThatMakesItsPatternMatch() async throws {
        try await Self.run { daemon async throws in
            let holder = try daemon.connect()
            #expect(try await holder.ask(Self.hold("closed:armed=true")).int("hold") == 1)
            #expect(try await daemon.ask(Self.tries(1)).bool("changed") == true)
            let denied = try await daemon.ask(Self.arm)
            #expect(denied.error == "denied" && denied.int("seq") == 1)
            #expect(denied.items("by")?.map { $0.int("hold") } == [1])
            #expect(denied.items("by")?.first?.string("why") == "held")
            // It is only asked before the pattern comes to match.
            #expect(try await holder.ask("release 1").ok == true)
            #expect(try await daemon.ask(Self.arm).ok == true)
            #expect(try await holder.ask(Self.hold("closed:armed=true")).int("hold") == 2)
            #expect(try await daemon.ask(Self.tries(2)).ok == true)
            #expect(try await daemon.ask(Self.arm).bool("changed") == false)
            #expect(try await daemon.ask(Self.disarm).ok == true)
            #expect(try await daemon.ask(Self.arm).error == "denied")
        }
    }

    @Test(arguments: [true, false])
    func aGuardIsAskedAboutSuchAnUpdate(allows: Bool) async throws {
        try await Self.run { daemon async throws in
            let (guardian, setter) = (try daemon.connect(), try daemon.connect())
            _ = try await guardian.guard("g", "closed:armed=true", #""timeoutMs":60000"#)
            #expect(try await setter.ask(Self.tries(1)).ok == true)
            try setter.send(Self.arm)
            let ask = try await guardian.next()
            #expect(ask.type == "ask" && ask.item("to")?.item("data")?.bool("armed") == true)
            #expect(ask.item("data")?.bool("armed") == false && ask.int("seq") == 1)
            #expect(try await guardian.vote(ask, allows, "not now").ok == true)
            let answer = try await setter.next()
            #expect(answer.ok == allows, "\(answer)")
            #expect(allows || answer.items("by")?.first?.string("why") == "not now")
        }
    }

    @Test func anUpdateWaitsForAHoldThatDelaysIt() async throws {
        try await Self.run { daemon async throws in
            let (holder, setter) = (try daemon.connect(), try daemon.connect())
            let line = #"{"op":"hold","before":["closed:armed=true"],"mode":"delay","maxMs":60000}"#
            #expect(try await holder.ask(line).int("hold") == 1)
            try setter.send(Self.arm)
            let isWaiting: @Sendable () async throws -> Bool = {
                try await daemon.ask("stats").items("connections")?
                    .contains { $0.int("sets") == 1 } == true
            }
            while try await !isWaiting() {}
            #expect(try await daemon.ask("get").item("data")?.bool("armed") == false)
            #expect(try await holder.ask("release 1").ok == true)
            #expect(try await setter.next().bool("changed") == true)
        }
    }

    /// Of a list that matches already another pattern may come to match.
    @Test func eachPatternCountsByItselfWithTheExceptionsOfItsList() async throws {
        try await Self.run { daemon async throws in
            let holder = try daemon.connect()
            #expect(try await daemon.ask(Self.arm).ok == true)
            #expect(
                try await holder.ask(Self.hold("closed:armed=true", "closed:tries=3")).ok == true
            )
            #expect(try await daemon.ask(Self.tries(2)).ok == true)
            #expect(try await daemon.ask(Self.tries(3)).error == "denied")
            #expect(try await holder.ask("release 1").ok == true)

            #expect(try await holder.ask(Self.hold("closed", "!closed:armed=true")).ok == true)
            #expect(try await daemon.ask(Self.tries(3)).ok == true)
            #expect(try await daemon.ask(Self.disarm).error == "denied")
            #expect(try await holder.ask("release 2").ok == true)
            #expect(try await daemon.ask(Self.disarm).ok == true)
            #expect(try await holder.ask(Self.hold("!closed:tries=4")).ok == true)
            #expect(try await daemon.ask(Self.tries(4)).ok == true)
            #expect(try await daemon.ask(Self.tries(5)).error == "denied")
        }
    }

    /// A new stay asks about all that the state matches, and `stay` about nothing.
    @Test func aNewStayAsksAboutWhatMatchedBeforeToo() async throws {
        try await Self.run { daemon async throws in
            let holder = try daemon.connect()
            #expect(try await holder.ask(Self.hold("closed")).ok == true)
            #expect(try await daemon.ask(Self.arm).ok == true)
            #expect(try await daemon.ask("send knock").error == "denied")
            #expect(try await daemon.ask("send arm").error == "denied")
            #expect(try await daemon.ask("send rest").bool("handled") == true)
        }
    }

    @Test func onlyThoseAreNamedWhomTheChangeConcerns() async throws {
        try await Self.run { daemon async throws in
            let holder = try daemon.connect()
            for line in [
                Self.hold("closed"), Self.hold("closed:armed=true"), Self.hold("closed:tries=0"),
                Self.hold("!closed:armed=false"),
            ] {
                #expect(try await holder.ask(line).ok == true)
            }
            let update = try await daemon.ask(Self.arm)
            #expect(update.items("by")?.map { $0.int("hold") } == [2, 4], "\(update)")
            let event = try await daemon.ask("send arm")
            #expect(event.items("by")?.map { $0.int("hold") } == [1, 2, 3, 4], "\(event)")
        }
    }

    /// It is judged where the machine is at the update's turn, not when that was sent.
    @Test func whetherAPatternComesToMatchIsJudgedAtTheUpdatesTurn() async throws {
        try await Self.run { daemon async throws in
            let (guardian, holder, setter) = (
                try daemon.connect(), try daemon.connect(), try daemon.connect()
            )
            _ = try await guardian.guard("g", "closed:tries=1", #""timeoutMs":60000"#)
            #expect(try await holder.ask(Self.hold("closed:armed=true,tries=1")).ok == true)
            try setter.send(#"{"op":"update","data":{"tries":1}}"#)
            let ask = try await guardian.next()
            try setter.send(Self.arm)
            #expect(try await guardian.vote(ask, true).ok == true)
            let (first, second) = (try await setter.next(), try await setter.next())
            #expect(first.ok == true && second.error == "denied", "\(first) \(second)")
        }
    }

    @Test func aGuardThatIsBackIsAskedAboutAnUpdate() async throws {
        let clients = Recorder<LineSocket>()
        let line =
            #"{"op":"guard","id":"g","before":["closed:armed=true"],"timeoutMs":60000,"onTimeout":"deny"}"#
        try await DeclaredMachine.with(Self.machine) { machine in
            try await machine.run { daemon async throws in
                let client = try daemon.connect()
                clients.record(client)
                #expect(try await client.ask(line).ok == true)
            }
            try await machine.run { daemon async throws in
                let setter = try daemon.connect()
                try setter.send(Self.arm)
                while try await daemon.ask("stats").items("guards")?.first?.bool("isAsked")
                    != true
                {}
                let back = try daemon.connect()
                #expect(try await back.ask(line).int("guard") == 1)
                let ask = try await back.next()
                #expect(try await back.vote(ask, false, "not yet").ok == true)
                #expect(try await setter.next().error == "denied")
            }
        }
    }

    @Test func describeSaysSo() async throws {
        try await Self.run { daemon async throws in
            let features = try await daemon.ask("describe").strings("features")
            #expect(features?.contains("voters-on-update") == true)
        }
    }
}

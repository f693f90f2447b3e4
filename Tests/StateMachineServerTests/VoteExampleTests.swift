import StateMachineCore
import StateMachineServer
import TestSupport
import Testing

/// Holds, guards and paced watches send what the specification shows, except for numbers, times and
/// cursors.
@Suite(.bounded)
struct VoteExampleTests {
    private static let set =
        #"{"op":"set","id":5,"state":"authentication","data":{"phase":"idle"},"cause":"logout"}"#

    @Test
    func aGuardIsAskedAndItsNoIsToldAsShown() async throws {
        let examples = try ExampleLines("replies", "watches")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let (guardian, setter) = (try daemon.connect(), try daemon.connect())
            let begun = try await guardian.ask(
                #"{"op":"guard","id":9,"before":["authentication:phase=idle"],"timeoutMs":60000}"#
            )
            #expect(examples.show(begun), "\(begun)")
            try setter.send(Self.set)
            let asked = try await guardian.next()
            #expect(examples.show(asked), "\(asked)")
            let number = try #require(asked.int("ask"))
            let vote = #"{"op":"vote","id":10,"ask":\#(number),"allow":false,"why":"unsaved work"}"#
            #expect(try await guardian.ask(vote).ok == true)
            let denied = try await setter.next()
            #expect(denied.error == "denied")
            #expect(examples.show(denied), "\(denied)")
            let late = try await guardian.ask(vote)
            #expect(late.error == "not-found")
            #expect(examples.show(late), "\(late)")
        }
    }

    @Test
    func silenceThatDeniesIsToldAsShown() async throws {
        let examples = try ExampleLines("replies")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let (guardian, setter) = (try daemon.connect(), try daemon.connect())
            let begun = try await guardian.ask(
                #"{"op":"guard","before":["authentication"],"timeoutMs":1,"onTimeout":"deny"}"#
            )
            #expect(begun.ok == true)
            let denied = try await setter.ask(Self.set)
            #expect(denied.error == "denied")
            #expect(examples.show(denied), "\(denied)")
            let number = try #require(try await guardian.next().int("ask"))
            let late = try await guardian.ask(
                #"{"op":"vote","id":10,"ask":\#(number),"allow":true}"#
            )
            #expect(late.error == "not-found")
            #expect(examples.show(late), "\(late)")
        }
    }

    @Test
    func aHoldDeniesUntilItIsReleasedAsShown() async throws {
        let examples = try ExampleLines("replies")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let client = try daemon.connect()
            let begun = try await client.ask(#"{"op":"hold","id":6,"before":["authentication"]}"#)
            #expect(examples.show(begun), "\(begun)")
            let denied = try await client.ask(Self.set)
            #expect(denied.error == "denied")
            #expect(examples.show(denied), "\(denied)")
            let number = try #require(begun.int("hold"))
            // From another connection of the same user.
            let released = try await daemon.connect().ask(
                #"{"op":"release","id":8,"hold":\#(number)}"#
            )
            #expect(examples.show(released), "\(released)")
            #expect(try await client.ask(Self.set).ok == true)
        }
    }

    @Test
    func aDelegateOfTheProgramDeniesAsShown() async throws {
        let examples = try ExampleLines("replies")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let registration = daemon.machine.addVoter(label: "editor", on: .immediate) { _ in
                .no("unsaved work")
            }
            defer { registration.cancel() }
            let denied = try await daemon.connect().ask(Self.set)
            #expect(denied.error == "denied")
            #expect(examples.show(denied), "\(denied)")
        }
    }

    @Test
    func aSetThatWaitsForVotesIsToldOfTheEndAsShown() async throws {
        let examples = try ExampleLines("replies", "watches")
        try await ExampleDaemon.run(.authentication(.active)) { daemon in
            let (guardian, setter) = (try daemon.connect(), try daemon.connect())
            _ = try await guardian.ask(
                #"{"op":"guard","id":9,"before":["authentication"],"timeoutMs":60000}"#
            )
            try setter.send(Self.set)
            #expect(try await guardian.next().type == "ask")
            await daemon.shutDown()
            let farewell = try await setter.rest()
            #expect(farewell.map(\.type) == ["reply", "bye"])
            #expect(farewell.first?.error == "shutting-down")
            #expect(farewell.allSatisfy(examples.show), "\(farewell)")
        }
    }

    @Test
    func aReplayOfTheLatestCollapsesAndBeatsFollowAsShown() async throws {
        let examples = try ExampleLines("watches")
        try await ExampleDaemon.run(.ready(false)) { daemon in
            let client = try daemon.connect()
            let start = try #require(try await client.ask("get").string("cursor"))
            daemon.machine.state = .ready(true)
            let cause = #""cause":"log/in: “é”\u2028"}"#
            for rest in [#""state":"dataRetrieval","data":{"phase":"failure"},"# + cause] {
                #expect(try await client.ask(#"{"op":"set","# + rest).ok == true)
            }
            try client.send(
                #"{"op":"watch","id":2,"since":"\#(start)","mode":"latest","beatMs":100}"#
            )
            let newest = try await client.next()
            #expect(newest.int("skipped") == 1)
            #expect(examples.show(newest), "\(newest)")
            #expect(try await client.next().type == "live")
            daemon.machine.state = .dataRetrieval(.active)
            var line = try await client.next()
            while line.type != "beat" || line.seq != 3 { line = try await client.next() }
            #expect(examples.show(line), "\(line)")
        }
    }
}

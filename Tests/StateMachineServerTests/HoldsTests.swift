import NIOCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineCore
@testable import StateMachineServer

/// Holds cost those who set what they hold.
@Suite(.bounded) struct HoldsTests {
    private static func hold(_ patterns: [String]) -> String {
        let before = patterns.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"op":"hold","before":[\#(before)]}"#
    }

    /// The holds and guards that are looked at when that state is proposed, or when it would become so by an update.
    private static func candidates(
        for state: DoorState,
        updating present: DoorState? = nil,
        _ server: StateServer
    ) -> Int {
        let current = present ?? .closed
        let motion = Motion(
            from: Place(seq: 1, value: TypedValue(current), at: .now, stay: 1),
            to: TypedValue(state),
            beginsStay: present == nil
        )
        return server.machine.holder.withLock { $0.gate.voters }
            .voters(at: server.states.places(of: motion)).count
    }

    /// Neither those of other values nor those that hold the whole state, or a value that stays.
    @Test func aHoldThatNoUpdateMakesMatchCostsAnUpdateNothing() async throws {
        try await LoneServer.run { lone in
            lone.send(Self.hold(["open"]), Self.hold((0..<32).map { "open:degrees=\($0)" }))
            lone.send(Self.hold(["open", "!open:degrees=99"]))
            for _ in 0..<3 { #expect(lone.line().contains(#""hold":"#)) }
            try await lone.onLoop { server in
                // What a list with an exception comes to match is not known from one place.
                let inexact = 1
                let update: (Int, Int) -> Int = { old, new in
                    Self.candidates(
                        for: .open(degrees: new),
                        updating: .open(degrees: old),
                        server
                    )
                }
                #expect(update(70, 71) == inexact)
                #expect(update(7, 7) == inexact)
                #expect(update(7, 8) == inexact + 1)
                #expect(Self.candidates(for: .open(degrees: 8), server) == inexact + 2)
            }
        }
    }

    private static func exceptingPatterns(_ lone: LoneServer) async throws -> Int? {
        try await lone.onLoop { $0.clients.first { _ in true }?.user.exceptingPatterns }
    }

    @Test func aHoldThatConcernsNothingCostsASetterNothing() async throws {
        try await LoneServer.run { lone in
            for hold in 0..<8 {
                lone.send(Self.hold((0..<32).map { "open:degrees=\(1000 + hold * 32 + $0)" }))
                #expect(lone.line().contains(#""hold":"#))
            }
            try await lone.onLoop { server in
                #expect(Self.candidates(for: .open(degrees: 7), server) == 0)
                #expect(Self.candidates(for: .closed, server) == 0)
                #expect(Self.candidates(for: .open(degrees: 1255), server) == 1)
            }
            lone.send("set open degrees=7", "set open degrees=1255")
            #expect(lone.line().contains(#""changed":true"#))
            #expect(lone.line().contains(#""error":"denied""#))
        }
    }

    /// They are matched with states of their place, and so are few for a user.
    @Test func holdsThatAreMatchedWithOtherStatesCountTowardsALimit() async throws {
        try await LoneServer.run { lone in
            lone.send(Self.hold(["!closed", "!locked"]))
            #expect(lone.line().contains(#""hold":1"#))
            let patterns = try await Self.exceptingPatterns(lone)
            #expect(patterns == 2)
            lone.send("release 1", "ping")
            _ = (lone.line(), lone.line())
            let left = try await Self.exceptingPatterns(lone)
            #expect(left == 0)
        }
    }

    /// One of a state's name, one of an integer, which no table finds, and one of all but a state.
    @Test(arguments: ["locked", "open:degrees=7", "!closed"])
    func anIdleWaitIsNotJudgedOnASettersTime(pattern: String) async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"wait","id":1,"until":[""# + pattern + "\"]}", #"{"op":"ping"}"#)
            // The wait is kept once what follows it is answered.
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { server in
                let waits = try #require(server.clients.first { _ in true }).waits
                #expect(!waits.areBehind)
                for _ in 0..<100 {
                    lone.machine.state = .open(degrees: 7)
                    lone.machine.state = .closed
                    lone.machine.state = .locked(by: "x")
                    lone.machine.state = .closed
                }
                server.catchUp()
                // All changes are there, and the wait has not been compared with one of them.
                #expect(server.past.ring.head == 400)
                #expect(waits.count == 1)
                #expect(waits.areBehind)
            }
            // In its turn it is, with the first of them that ends it.
            let answer = lone.line()
            #expect(answer.contains(#""matched":""# + pattern))
            #expect(answer.contains(pattern == "locked" ? #""seq":3,"# : #""seq":1,"#))
        }
    }

    private func onOutput(_ body: @escaping @Sendable (Output) -> Void) async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"ping"}"#)
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { server in
                body(try #require(server.clients.first { _ in true }).output)
            }
        }
    }

    @Test func theLastWritingEndsWhenItsTimeIsOver() async throws {
        try await self.onOutput { output in
            output.beginTurn()
            output.write(until: .now()) { #expect(output.mustStop()) }
            #expect(output.isCutShort)
        }
    }

    @Test func untilThenItDoesNotWaitForATurn() async throws {
        try await self.onOutput { output in
            output.beginTurn()
            output.write(until: .distantFuture) { #expect(!output.mustStop()) }
            #expect(!output.isCutShort)
        }
    }

    @Test func aWriteInTheMiddleOfAnotherDoesNotChangeItsTime() async throws {
        try await self.onOutput { output in
            output.beginTurn()
            output.write(until: .now()) {
                output.write(until: .distantFuture) {}
                #expect(output.mustStop())
            }
            output.write(until: .distantFuture) {
                output.write(until: .now()) {}
                #expect(!output.mustStop())
            }
        }
    }

    @Test func aWaitThatDoesNotWaitStillDoesNotWhenItIsTakenOver() async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"ping"}"#)
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { server in
                let line = Array(#"{"op":"wait","until":["locked"],"timeoutMs":0}"#.utf8)
                let request = try #require(try Request.parse(line))
                var row = StandingRow(.wait, line)
                row.leftMs = 1
                let connection = try #require(server.clients.first { _ in true })
                try connection.waits.resume(row, of: server.epoch.description, asking: request)
                connection.output.want()
            }
            #expect(lone.line().contains(" after 0 ms, "))
        }
    }

    @Test func anAnswerFromTheHistoryIsStoppedWhereItIs() async throws {
        let request = try #require(try Request.parse(Array("history".utf8)))
        guard case .history(let call) = request.call else { return }
        try await self.onOutput { output in
            let runs = (0..<2).map { _ in
                HistoryRun(call, id: nil, after: 0, through: 10, resync: nil, request: [])
            }
            for run in runs { output.append(run) }
            output.append([1], replies: 0)
            output.stopHistory()
            #expect(runs.map(\.isDone) == [true, true])
        }
    }
}

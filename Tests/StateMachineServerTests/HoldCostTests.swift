import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineCore
@testable import StateMachineServer

/// What a hold costs those who set something else: nothing.
@Suite(.bounded) struct HoldCostTests {
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
            .voters(
                at: server.states.buckets(of: motion),
                on: server.states.stretches(of: motion)
            ).count
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

    /// Of bounds only those that the change reaches, and an update only those that it comes to reach.
    @Test func aHoldWhoseBoundIsNotReachedCostsNothing() async throws {
        try await LoneServer.run { lone in
            for _ in 0..<4 {
                lone.send(Self.hold((0..<32).map { "open:degrees>\($0 == 0 ? 80 : 1000 + $0)" }))
                lone.send(Self.hold((0..<32).map { "open:degrees<\(-10 - $0)" }))
                for _ in 0..<2 { #expect(lone.line().contains(#""hold":"#)) }
            }
            try await lone.onLoop { server in
                let update: (Int, Int) -> Int = { old, new in
                    Self.candidates(
                        for: .open(degrees: new),
                        updating: .open(degrees: old),
                        server
                    )
                }
                #expect(Self.candidates(for: .open(degrees: 80), server) == 0)
                #expect(Self.candidates(for: .open(degrees: 81), server) == 4)
                #expect(Self.candidates(for: .open(degrees: -10), server) == 0)
                #expect(Self.candidates(for: .open(degrees: -11), server) == 4)
                #expect(Self.candidates(for: .closed, server) == 0)
                #expect(update(70, 80) == 0)
                #expect(update(80, 81) == 4)
                #expect(update(81, 82) == 0)
                #expect(update(82, 81) == 0)
                // Its next pattern comes to match.
                #expect(update(-11, -12) == 4)
            }
            let patterns = try await Self.exceptingPatterns(lone)
            #expect(patterns == 0)
            lone.send("set open degrees=80", "set open degrees=81")
            #expect(lone.line().contains(#""changed":true"#))
            #expect(lone.line().contains(#""error":"denied""#))
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
}

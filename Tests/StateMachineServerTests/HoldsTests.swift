import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineCore
@testable import StateMachineServer

/// Holds cost those who set what they hold.
@Suite(.bounded)
struct HoldsTests {
    private static func hold(_ patterns: [String]) -> String {
        let before = patterns.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"op":"hold","before":[\#(before)]}"#
    }

    /// The holds and guards that are looked at when that state is proposed.
    private static func candidates(for state: DoorState, _ server: StateServer) -> Int {
        server.machine.holder.withLock { $0.gate.voters }
            .voters(at: server.states.places(of: TypedValue(state))).count
    }

    private static func exceptingPatterns(_ lone: LoneServer) async throws -> Int? {
        try await lone.onLoop { $0.clients.first { _ in true }?.user.exceptingPatterns }
    }

    @Test
    func aHoldThatConcernsNothingCostsASetterNothing() async throws {
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
    @Test
    func holdsThatAreMatchedWithOtherStatesCountTowardsALimit() async throws {
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

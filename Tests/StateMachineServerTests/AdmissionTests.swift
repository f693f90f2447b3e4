import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// Which connections are admitted, and when.
struct AdmissionTests {
    private static let own: UInt32 = 900

    @Test func aBurstIsServedAtOnceAndThenAcceptsWaitTheirTurn() {
        var limits = ServerLimits()
        limits.connectionsPerUid = 1000
        var admission = Admission(limits: limits, ownUid: Self.own)
        for _ in 0..<100 {
            #expect(admission.arrived(1000, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        }
        for late in 1...50 {
            let wait = Int64(late) * 5_000_000
            #expect(admission.arrived(1000, at: .control, now: 0) == .admit(afterNanoseconds: wait))
        }
        for uid in [0, Self.own, 1001] {
            #expect(admission.arrived(uid, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        }
    }

    @Test func theLastPlacesAreForRootAndTheDaemonsUser() {
        var admission = Admission(limits: ServerLimits(), ownUid: Self.own)
        for number in 0..<496 {
            let uid = UInt32(1000 + number / 64)
            #expect(admission.arrived(uid, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        }
        #expect(
            admission.arrived(5000, at: .control, now: 0)
                == .turnAway(limit: "connections", max: 496)
        )
        for number in 0..<16 {
            let uid = number % 2 == 0 ? 0 : Self.own
            #expect(admission.arrived(uid, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        }
        #expect(
            admission.arrived(0, at: .control, now: 0) == .turnAway(limit: "connections", max: 512)
        )
    }

    /// However often it connects and closes: a script that does nothing else does not lock its user
    /// out.
    @Test func whatEndsBeforeItsTimeGivesItBack() {
        var admission = Admission(limits: ServerLimits(), ownUid: Self.own)
        for _ in 0..<100 {
            #expect(admission.arrived(1000, at: .control, now: 0) == .admit(afterNanoseconds: 0))
            admission.released(1000, wasServed: true, now: 0)
        }
        for _ in 0..<10_000 {
            #expect(
                admission.arrived(1000, at: .control, now: 0)
                    == .admit(afterNanoseconds: 5_000_000)
            )
            admission.released(1000, wasServed: false, now: 0)
        }
    }

    @Test func nobodyWaitsForMoreThanTwoSeconds() {
        var limits = ServerLimits()
        limits.acceptsPerSecond = 10
        limits.acceptBurst = 1
        var admission = Admission(limits: limits, ownUid: Self.own)
        for late in 0...20 {
            let wait = Int64(late) * 100_000_000
            #expect(admission.arrived(1000, at: .control, now: 0) == .admit(afterNanoseconds: wait))
        }
        let refusal = Admission.Decision.turnAway(limit: "acceptsPerSecond", max: 10)
        for _ in 0..<10_000 {
            #expect(admission.arrived(1000, at: .control, now: 0) == refusal)
        }
        // A second later ten more are admitted.
        for _ in 0..<10 {
            #expect(admission.arrived(1000, at: .control, now: 1_000_000_000) != refusal)
        }
        #expect(admission.arrived(1000, at: .control, now: 1_000_000_000) == refusal)
    }

    @Test func readersLeaveThePlacesOfThoseWhoSet() {
        var admission = Admission(limits: ServerLimits(), ownUid: Self.own)
        for number in 0..<480 {
            let uid = UInt32(1000 + number / 64)
            #expect(admission.arrived(uid, at: .events, now: 0) == .admit(afterNanoseconds: 0))
        }
        let refusal = Admission.Decision.turnAway(limit: "connections", max: 480)
        #expect(admission.arrived(5000, at: .events, now: 0) == refusal)
        for _ in 0..<16 {
            #expect(admission.arrived(5000, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        }
        // Root's readers are turned away too.
        #expect(
            admission.arrived(0, at: .events, now: 0) == .turnAway(limit: "connections", max: 496)
        )
        #expect(admission.arrived(0, at: .control, now: 0) == .admit(afterNanoseconds: 0))
    }

    @Test func ofFewPlacesReadersHaveHalf() {
        var limits = ServerLimits()
        limits.connections = 4
        var admission = Admission(limits: limits, ownUid: Self.own)
        for _ in 0..<2 {
            #expect(admission.arrived(0, at: .events, now: 0) == .admit(afterNanoseconds: 0))
        }
        #expect(
            admission.arrived(0, at: .events, now: 0) == .turnAway(limit: "connections", max: 2)
        )
    }

    @Test func aUserHasSixtyFourPlacesAndGetsThemBack() {
        var admission = Admission(limits: ServerLimits(), ownUid: Self.own)
        for _ in 0..<64 { _ = admission.arrived(1000, at: .control, now: 0) }
        let refusal = Admission.Decision.turnAway(limit: "connectionsPerUid", max: 64)
        #expect(admission.arrived(1000, at: .control, now: 0) == refusal)
        for uid in [0, Self.own, 1001] {
            #expect(admission.arrived(uid, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        }
        admission.released(1000, wasServed: true, now: 0)
        #expect(admission.arrived(1000, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        #expect(admission.arrived(1000, at: .control, now: 0) == refusal)
    }
}

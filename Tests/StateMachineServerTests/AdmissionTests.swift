import Testing

@testable import StateMachineServer

/// Who gets a place, and when.
struct AdmissionTests {
    private static let own: UInt32 = 900

    @Test
    func aBurstIsServedAtOnceAndThenAcceptsWaitTheirTurn() {
        var limits = ServerLimits()
        limits.connectionsPerUid = 1000
        var admission = Admission(limits: limits, ownUid: Self.own)
        for _ in 0..<100 {
            #expect(admission.arrived(1000, at: 0) == .admit(afterNanoseconds: 0))
        }
        for late in 1...50 {
            let wait = Int64(late) * 5_000_000
            #expect(admission.arrived(1000, at: 0) == .admit(afterNanoseconds: wait))
        }
        for uid in [0, Self.own, 1001] {
            #expect(admission.arrived(uid, at: 0) == .admit(afterNanoseconds: 0))
        }
    }

    @Test
    func aUserHasSixtyFourPlacesAndGetsThemBack() {
        var admission = Admission(limits: ServerLimits(), ownUid: Self.own)
        for _ in 0..<64 { _ = admission.arrived(1000, at: 0) }
        let refusal = Admission.Decision.turnAway(limit: "connectionsPerUid", max: 64)
        #expect(admission.arrived(1000, at: 0) == refusal)
        for uid in [0, Self.own, 1001] {
            #expect(admission.arrived(uid, at: 0) == .admit(afterNanoseconds: 0))
        }
        admission.left(1000, at: 0)
        #expect(admission.arrived(1000, at: 0) == .admit(afterNanoseconds: 0))
        #expect(admission.arrived(1000, at: 0) == refusal)
    }

    @Test
    func theLastPlacesAreForRootAndTheDaemonsUser() {
        var admission = Admission(limits: ServerLimits(), ownUid: Self.own)
        for number in 0..<496 {
            let uid = UInt32(1000 + number / 64)
            #expect(admission.arrived(uid, at: 0) == .admit(afterNanoseconds: 0))
        }
        #expect(admission.arrived(5000, at: 0) == .turnAway(limit: "connections", max: 496))
        for number in 0..<16 {
            let uid = number % 2 == 0 ? 0 : Self.own
            #expect(admission.arrived(uid, at: 0) == .admit(afterNanoseconds: 0))
        }
        #expect(admission.arrived(0, at: 0) == .turnAway(limit: "connections", max: 512))
    }
}

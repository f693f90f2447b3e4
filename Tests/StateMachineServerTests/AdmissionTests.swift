import NIOCore
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
            admission.left(1000, wasServed: true, now: 0)
        }
        for _ in 0..<10_000 {
            #expect(
                admission.arrived(1000, at: .control, now: 0)
                    == .admit(afterNanoseconds: 5_000_000)
            )
            admission.left(1000, wasServed: false, now: 0)
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

    private static func limits() -> ServerLimits {
        var limits = ServerLimits()
        limits.requestBytesPerUid = 1000
        limits.replyBytesPerUid = 1000
        return limits
    }

    @Test func requestsAreKeptUpToTheLimitAndEndedOnesMakeRoom() {
        let user = User(1000, isLimited: true)
        user.requestBytes += 600
        #expect(user.mayKeep(400, within: Self.limits()))
        #expect(!user.mayKeep(401, within: Self.limits()))
        user.requestBytes -= 1
        #expect(user.mayKeep(401, within: Self.limits()))
    }

    @Test func theReplyThatReachesTheLimitIsTheLast() {
        let user = User(1000, isLimited: true)
        user.replyBytes += 999
        #expect(user.mayOwe(within: Self.limits()))
        user.replyBytes += 1
        #expect(!user.mayOwe(within: Self.limits()))
        user.replyBytes -= 1
        #expect(user.mayOwe(within: Self.limits()))
    }

    @Test func whatATurnTakesTooLongIsTakenOffTheNextOnes() {
        let user = User(1000, isLimited: true)
        #expect(user.takeTurn() == Turns.length)
        user.use(Turns.length + .microseconds(50))
        #expect(user.takeTurn() == nil)
        #expect(user.takeTurn() == Turns.length - .microseconds(50))
        #expect(user.takeTurn() == Turns.length)
        // However long it took, it is made up for at some time.
        user.use(.seconds(1))
        let missed = Turns.most.nanoseconds / Turns.length.nanoseconds
        for _ in 0..<missed { #expect(user.takeTurn() == nil) }
        #expect(user.takeTurn() == Turns.length)
        // What is left of a turn is not saved up.
        user.use(.zero - Turns.length)
        #expect(user.takeTurn() == Turns.length)
    }

    @Test func whoIsHeldToLimitsIsWrittenToEarlyAsLongAsItsNextTurnsLast() throws {
        let user = User(1000, isLimited: true)
        /// Until when it may be written.
        func end(_ user: User) -> NIODeadline? {
            var end: NIODeadline?
            user.early { end = $0 }
            return end
        }
        let latest = NIODeadline.now() + .seconds(60)
        let first = try #require(end(user))
        #expect(first < latest)
        user.use(Turns.most)
        #expect(end(user) == nil)
        _ = user.takeTurn()
        let second = try #require(end(user))
        #expect(second < latest)
        let root = User(0, isLimited: false)
        root.use(Turns.most)
        #expect(end(root) == .distantFuture)
    }

    @Test func rootAndTheDaemonsOwnUserAreNotHeldToIt() {
        let user = User(0, isLimited: false)
        user.requestBytes += 5000
        user.replyBytes += 5000
        #expect(user.mayKeep(5000, within: Self.limits()))
        #expect(user.mayOwe(within: Self.limits()))
    }

    /// An honest reader asks for the next piece when it has the last one.
    @Test func whoAsksForMuchWaitsForItselfAlone() {
        var turns = HistoryTurns<String>()
        #expect(turns.asked("greedy 0", by: 1000) == "greedy 0")
        for number in 1..<2048 { #expect(turns.asked("greedy \(number)", by: 1000) == nil) }
        var read: [String] = []
        for piece in 0..<100 {
            #expect(turns.asked("honest \(piece)", by: 1001) == nil)
            var next = turns.ended()
            while let one = next, one != "honest \(piece)" {
                read.append(one)
                next = turns.ended()
            }
        }
        // Each of its pieces has waited for one piece of the other's.
        #expect(read.count <= 100)
    }

    @Test func aUsersReadsAreMadeInOrderAndEachOnce() {
        var turns = HistoryTurns<Int>()
        var made = [turns.asked(0, by: 7)].compactMap(\.self)
        for number in 1..<10 { #expect(turns.asked(number, by: 7) == nil) }
        while let next = turns.ended() { made.append(next) }
        #expect(made == Array(0..<10))
        #expect(turns.asked(10, by: 7) == 10)
        #expect(turns.ended() == nil)
    }

    @Test func afterTheEndOnlyWhatIsUnderWayIsMade() {
        var turns = HistoryTurns<Int>()
        _ = turns.asked(1, by: 7)
        _ = turns.asked(2, by: 7)
        _ = turns.asked(3, by: 8)
        #expect(turns.close().sorted() == [2, 3])
        #expect(turns.ended() == nil)
    }

    @Test func aUserHasSixtyFourPlacesAndGetsThemBack() {
        var admission = Admission(limits: ServerLimits(), ownUid: Self.own)
        for _ in 0..<64 { _ = admission.arrived(1000, at: .control, now: 0) }
        let refusal = Admission.Decision.turnAway(limit: "connectionsPerUid", max: 64)
        #expect(admission.arrived(1000, at: .control, now: 0) == refusal)
        for uid in [0, Self.own, 1001] {
            #expect(admission.arrived(uid, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        }
        admission.left(1000, wasServed: true, now: 0)
        #expect(admission.arrived(1000, at: .control, now: 0) == .admit(afterNanoseconds: 0))
        #expect(admission.arrived(1000, at: .control, now: 0) == refusal)
    }
}

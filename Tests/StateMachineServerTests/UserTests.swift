import NIOCore
import Testing

@testable import StateMachineServer

/// What is charged to a user, and how long its connections may be written to.
struct UserTests {
    private static func limits() -> ServerLimits {
        var limits = ServerLimits()
        limits.requestBytesPerUid = 1000
        limits.replyBytesPerUid = 1000
        return limits
    }

    @Test func requestsAreKeptUpToTheLimitAndEndedOnesMakeRoom() {
        let user = User(1000, isPrivileged: false)
        user.requestBytes += 600
        #expect(user.mayKeep(400, within: Self.limits()))
        #expect(!user.mayKeep(401, within: Self.limits()))
        user.requestBytes -= 1
        #expect(user.mayKeep(401, within: Self.limits()))
    }

    @Test func theReplyThatReachesTheLimitIsTheLast() {
        let user = User(1000, isPrivileged: false)
        user.replyBytes += 999
        #expect(user.mayOwe(within: Self.limits()))
        user.replyBytes += 1
        #expect(!user.mayOwe(within: Self.limits()))
        user.replyBytes -= 1
        #expect(user.mayOwe(within: Self.limits()))
    }

    @Test func whatATurnTakesTooLongIsTakenOffTheNextOnes() {
        let user = User(1000, isPrivileged: false)
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
        let user = User(1000, isPrivileged: false)
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
        let root = User(0, isPrivileged: true)
        root.use(Turns.most)
        #expect(end(root) == .distantFuture)
    }

    @Test func rootAndTheDaemonsOwnUserAreNotHeldToIt() {
        let user = User(0, isPrivileged: true)
        user.requestBytes += 5000
        user.replyBytes += 5000
        #expect(user.mayKeep(5000, within: Self.limits()))
        #expect(user.mayOwe(within: Self.limits()))
    }

    @Test func whatIsSentAndNotDealtWithIsChargedUntilItIs() {
        let user = User(1000, isPrivileged: false)
        var (one, other) = (Input(), Input())
        one.received(ByteBuffer(string: "ping\nping\npi"))
        one.charge(to: user)
        other.received(ByteBuffer(string: "get\n"))
        other.charge(to: user)
        #expect(user.inputBytes == 16)
        if case .line(let length) = one.next() { _ = try? one.takeRequest(length) }
        one.charge(to: user)
        #expect(user.inputBytes == 11)
        one.putBack()
        one.charge(to: user)
        #expect(user.inputBytes == 16)
        one.clear()
        one.charge(to: user)
        #expect(user.inputBytes == 4)
    }

    @Test func pastItsLimitAUserIsReadNoFurther() {
        let (user, root) = (User(1000, isPrivileged: false), User(0, isPrivileged: true))
        for user in [user, root] { user.inputBytes = 999 }
        #expect(user.mayReceive(within: Self.limits()))
        for user in [user, root] { user.inputBytes = 1000 }
        #expect(!user.mayReceive(within: Self.limits()))
        #expect(root.mayReceive(within: Self.limits()))
    }
}

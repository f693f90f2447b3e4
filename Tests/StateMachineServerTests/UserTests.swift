import Testing

@testable import StateMachineServer

/// What all connections of one user take together.
struct UserTests {
    private static func limits() -> ServerLimits {
        var limits = ServerLimits()
        limits.requestBytesPerUid = 1000
        limits.replyBytesPerUid = 1000
        return limits
    }

    @Test
    func requestsAreKeptUpToTheLimitAndEndedOnesMakeRoom() {
        let user = User(1000, isLimited: true)
        user.requestBytes += 600
        #expect(user.mayKeep(400, within: Self.limits()))
        #expect(!user.mayKeep(401, within: Self.limits()))
        user.requestBytes -= 1
        #expect(user.mayKeep(401, within: Self.limits()))
    }

    @Test
    func theReplyThatReachesTheLimitIsTheLast() {
        let user = User(1000, isLimited: true)
        user.replyBytes += 999
        #expect(user.mayOwe(within: Self.limits()))
        user.replyBytes += 1
        #expect(!user.mayOwe(within: Self.limits()))
        user.replyBytes -= 1
        #expect(user.mayOwe(within: Self.limits()))
    }

    @Test
    func rootAndTheDaemonsOwnUserAreNotHeldToIt() {
        let user = User(0, isLimited: false)
        user.requestBytes += 5000
        user.replyBytes += 5000
        #expect(user.mayKeep(5000, within: Self.limits()))
        #expect(user.mayOwe(within: Self.limits()))
    }
}

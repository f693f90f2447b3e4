#if Cluster
/// Which member of the engine is asked: all of them at once, and the first that answers is kept, until the connection to it is lost.
///
/// A value that decides and does nothing, and has no clock. A member that cannot be reached is tried again after a pause of its own, so
/// one that answers nothing holds up no other.
package struct Endpoints: Sendable {
    /// 50 ms: a new leader takes a second, a restarted member some; nobody is in the way of either.
    private static let shortest = Duration.milliseconds(50)
    /// 2 s: as long as a failover may take altogether.
    private static let longest = Duration.seconds(2)

    /// One attempt to reach one of them; what is told of an older one is passed over.
    package struct Attempt: Hashable, Sendable {
        package let endpoint: Int
        package let number: Int
    }

    package enum Event: Hashable, Sendable {
        case begun
        /// A quorum has answered there.
        case answered(Attempt)
        /// There is no connection, or no answer of a quorum, and why.
        case failed(Attempt, ConnectionTrouble)
        case paused(Attempt)
        /// The one in use is of no use any longer, and why.
        case lost(Attempt, ConnectionTrouble)
        /// The one in use has been that for ``longest``.
        case stood(Attempt)
    }

    package enum Action: Hashable, Sendable {
        /// Connect and ask.
        case probe(Attempt)
        /// Give it up, and end its connection.
        case drop(Attempt)
        /// Tell ``Event/paused(_:)`` after that time.
        case pause(Attempt, Duration)
        /// From now on this is the connection.
        case use(Attempt)
        /// Tell ``Event/stood(_:)`` after that time.
        case wait(Attempt, Duration)
        /// The one in use is lost, and why; or none can be reached, and for each why.
        case report([ConnectionTrouble])
    }

    private enum Standing {
        case idle
        case probing(Int)
        case pausing(Int)
        case used(Int)
    }

    private struct Member {
        var standing = Standing.idle
        /// Attempts that failed in a row, and connections that were lost as soon as they were there.
        var failures = 0
        var trouble: ConnectionTrouble?
    }

    private var members: [Member]
    private var number = 0
    /// What was reported last, since nothing was in use.
    private var reported: [ConnectionTrouble] = []

    package init(count: Int) { self.members = Array(repeating: Member(), count: count) }

    package mutating func thisHappened(
        _ event: Event,
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch event {
        case .begun: return self.beginAll(using: &generator)
        case .answered(let attempt):
            guard case .probing(attempt.number) = self.members[attempt.endpoint].standing else {
                return []
            }
            return self.use(attempt)
        case .failed(let attempt, let why):
            guard case .probing(attempt.number) = self.members[attempt.endpoint].standing else {
                return []
            }
            self.note(why, of: attempt.endpoint)
            return [.drop(attempt), self.pause(attempt.endpoint, using: &generator)] + self.report()
        case .paused(let attempt):
            guard case .pausing(attempt.number) = self.members[attempt.endpoint].standing else {
                return []
            }
            return [self.probe(attempt.endpoint)]
        case .lost(let attempt, let why):
            guard case .used(attempt.number) = self.members[attempt.endpoint].standing else {
                return []
            }
            self.members[attempt.endpoint].standing = .idle
            self.note(why, of: attempt.endpoint)
            self.reported = [why]
            return [.drop(attempt), .report([why])] + self.beginAll(using: &generator)
        case .stood(let attempt):
            guard case .used(attempt.number) = self.members[attempt.endpoint].standing else {
                return []
            }
            // Those that could not be reached then may be back, and are asked at once when this one is lost.
            for index in self.members.indices { self.members[index].failures = 0 }
            return []
        }
    }

    private mutating func use(_ attempt: Attempt) -> [Action] {
        var actions: [Action] = []
        for index in self.members.indices {
            self.members[index].trouble = nil
            if index == attempt.endpoint {
                self.members[index].standing = .used(attempt.number)
            } else if case .probing(let number) = self.members[index].standing {
                actions.append(.drop(Attempt(endpoint: index, number: number)))
                self.members[index].standing = .idle
            } else {
                self.members[index].standing = .idle
            }
        }
        self.reported = []
        return actions + [.use(attempt), .wait(attempt, Self.longest)]
    }

    /// Asks all that are not in the way of anybody; those that failed before have their pause first, so that two which take connections
    /// and lose them are not tried in turns without one.
    private mutating func beginAll(using generator: inout some RandomNumberGenerator) -> [Action] {
        var actions: [Action] = []
        for index in self.members.indices {
            guard case .idle = self.members[index].standing else { continue }
            actions.append(
                self.members[index].failures == 0
                    ? self.probe(index) : self.pause(index, using: &generator)
            )
        }
        return actions
    }

    private mutating func note(_ why: ConnectionTrouble, of index: Int) {
        self.members[index].failures += 1
        self.members[index].trouble = why
    }

    private mutating func probe(_ index: Int) -> Action {
        self.number += 1
        self.members[index].standing = .probing(self.number)
        return .probe(Attempt(endpoint: index, number: self.number))
    }

    private mutating func pause(
        _ index: Int,
        using generator: inout some RandomNumberGenerator
    ) -> Action {
        self.number += 1
        self.members[index].standing = .pausing(self.number)
        let step = min(
            Self.longest,
            Self.shortest * (1 << min(self.members[index].failures - 1, 6))
        )
        let jitter = Double.random(in: 0.5...1, using: &generator)
        return .pause(Attempt(endpoint: index, number: self.number), step * jitter)
    }

    /// What is wrong, once something is wrong with each, and when that has changed.
    private mutating func report() -> [Action] {
        let troubles = self.members.compactMap(\.trouble)
        guard troubles.count == self.members.count, troubles != self.reported else { return [] }
        self.reported = troubles
        return [.report(troubles)]
    }
}
#endif

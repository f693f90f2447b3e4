/// Which of the values that come somebody is given, and when: what is kept until it is given, when that is, and how much
/// may be kept.
///
/// The same for a receptionist's task, for delegates, and for whoever iterates.
///
/// Whatever is left out is counted; the newest never is. Keys are asked for on the target context; a key function
/// says the same of the same value every time.
public struct Delivery<Value: Sendable>: Sendable {
    /// What is kept of the values until they are given.
    enum Keeping: Sendable {
        case all
        case newest
        /// The newest of each key, in the order in which they came.
        case newestPer(@Sendable (Value) -> AnyHashable)
    }

    /// When the values are given.
    enum Timing: Sendable {
        /// When they come.
        case atOnce
        /// When the context has got to all that there are for now.
        case afterBurst
        case batch(every: Duration, atMost: Int)
        case paced(every: Duration)
        case settled(after: Duration)
    }

    let keeping: Keeping
    let timing: Timing
    /// Values that are kept until they are given; past it the oldest is dropped, and counted.
    var limit = Self.defaultLimit

    /// Of receptionists, delegates, and whoever iterates, unless they say otherwise.
    ///
    /// 4096: what a machine's connections have in flight together. Not tuned.
    static var defaultLimit: Int { 4096 }

    /// Every one, by itself.
    public static var each: Self { Self(keeping: .all, timing: .atOnce) }

    /// Of those that have gathered when the context gets to them, the newest.
    public static var latest: Self { Self(keeping: .newest, timing: .afterBurst) }

    /// Of those that have gathered, the newest of each key, in the order in which they came.
    public static func latestPer(_ key: @escaping @Sendable (Value) -> AnyHashable) -> Self {
        Self(keeping: .newestPer(key), timing: .afterBurst)
    }

    /// All, or the newest of each key, in one batch at an interval, which begins with the first; sooner if there are so
    /// many, of which there are never more than its limit.
    public static func batch(
        every interval: Duration,
        atMost count: Int,
        per key: (@Sendable (Value) -> AnyHashable)? = nil
    ) -> Self {
        Self(
            keeping: key.map { .newestPer($0) } ?? .all,
            timing: .batch(every: interval, atMost: count)
        )
    }

    /// The first at once, and then, at each interval, the newest, or the newest of each key, if there is a new one.
    public static func paced(
        every interval: Duration,
        per key: (@Sendable (Value) -> AnyHashable)? = nil
    ) -> Self {
        Self(keeping: Self.newest(key), timing: .paced(every: interval))
    }

    /// The newest, or the newest of each key, when none has come for so long.
    public static func settled(
        after quiet: Duration,
        per key: (@Sendable (Value) -> AnyHashable)? = nil
    ) -> Self {
        Self(keeping: Self.newest(key), timing: .settled(after: quiet))
    }

    /// The same, but at most so many are kept until they are given: past it the oldest, or of keys the one that has
    /// waited longest, is dropped and counted.
    ///
    /// 4096 unless said. It holds of ``each`` for an iterator, at the source, and where events are fed by hand; a delegate
    /// that is told of each is told of all, and what waits for its context is the machine's affair
    /// (``StateMachine/Options/laneLimit``).
    public func limited(to limit: Int) -> Self {
        precondition(limit > 0, "a delivery has to have room for one value")
        var delivery = self
        delivery.limit = limit
        return delivery
    }

    private static func newest(_ key: (@Sendable (Value) -> AnyHashable)?) -> Keeping {
        key.map { .newestPer($0) } ?? .newest
    }

    /// Whether it is given every value when it comes, so that nothing has to be kept.
    var isStraight: Bool {
        switch (self.keeping, self.timing) {
        case (.all, .atOnce): true
        case (.newest, _), (.newestPer, _), (.all, _): false
        }
    }

    /// What is given at one time.
    public struct Batch: Sendable {
        /// The values, at least one, the newest last.
        public let values: [Value]
        /// From the first transition that this accounts for to the last, whatever came of them; numbers
        /// in order of arrival where there is no machine.
        public let seqs: ClosedRange<UInt64>
        /// How many were left out because a newer one took their place.
        public let coalesced: Int
        /// How many were lost: for them there was no room, or the context was too late.
        ///
        /// Of those that a context was too late for nobody can say whether they would have passed the
        /// filter.
        public let dropped: Int
    }
}

extension Delivery.Batch: Equatable where Value: Equatable {}
extension Delivery.Batch: Hashable where Value: Hashable {}

/// Which values are delivered, and when: what is kept until then, and how much of it.
///
/// The same for a receptionist's task, for delegates, and for iterators.
///
/// Whatever is left out is counted; the newest value is never left out. Keys are computed on the
/// target context; a key function returns the same key for the same value every time.
public struct Delivery<Value: Sendable>: Sendable {
    /// What is kept of the values until they are delivered.
    enum Keeping: Sendable {
        case all
        case newest
        /// The newest of each key, in the order in which they came.
        case newestPer(@Sendable (Value) -> AnyHashable)
    }

    let keeping: Keeping
    let timing: DeliveryTiming
    /// Values that are kept until they are delivered; beyond that the oldest is dropped, and
    /// counted.
    var limit = Self.defaultLimit

    /// The default for receptionists, delegates and iterators.
    ///
    /// 4096: what a machine's connections have in flight together. Not tuned.
    static var defaultLimit: Int { 4096 }

    /// Each value by itself.
    public static var each: Self { Self(keeping: .all, timing: .atOnce) }

    /// The newest of those that have gathered when the context gets to them.
    public static var latest: Self { Self(keeping: .newest, timing: .afterBurst) }

    /// The newest of each key among those that have gathered, in the order in which they came.
    public static func latestPer(_ key: @escaping @Sendable (Value) -> AnyHashable) -> Self {
        Self(keeping: .newestPer(key), timing: .afterBurst)
    }

    /// All, or the newest of each key, in one batch per interval, which begins with the first
    /// value; sooner once `count` are kept.
    ///
    /// Its limit is at least `count`; with a lower one (``limited(to:)``) a batch never exceeds that.
    public static func batch(
        every interval: Duration,
        atMost count: Int,
        per key: (@Sendable (Value) -> AnyHashable)? = nil
    ) -> Self {
        Self(
            keeping: key.map { .newestPer($0) } ?? .all,
            timing: .batch(every: interval, atMost: count),
            limit: max(count, Self.defaultLimit)
        )
    }

    /// The first at once, and then, at each interval, the newest, or the newest of each key, if there is a new one.
    public static func paced(
        every interval: Duration,
        per key: (@Sendable (Value) -> AnyHashable)? = nil
    ) -> Self {
        Self(keeping: Self.newest(key), timing: .paced(every: interval))
    }

    /// The newest, or the newest of each key, once none has come for `quiet`.
    public static func settled(
        after quiet: Duration,
        per key: (@Sendable (Value) -> AnyHashable)? = nil
    ) -> Self {
        Self(keeping: Self.newest(key), timing: .settled(after: quiet))
    }

    /// The same, but keeps at most `limit` values until they are delivered: beyond that the oldest,
    /// or with keys the one that has waited longest, is dropped and counted.
    ///
    /// 4096 by default, or a batch's number if that is higher. For ``each`` it applies to an iterator, at the source, and to events fed by
    /// hand; a delegate with ``each`` is told of all, and what waits for its context is up to the
    /// machine (``StateMachine/Options/laneLimit``).
    public func limited(to limit: Int) -> Self {
        precondition(limit > 0, "a delivery's limit must be at least 1")
        var delivery = self
        delivery.limit = limit
        return delivery
    }

    private static func newest(_ key: (@Sendable (Value) -> AnyHashable)?) -> Keeping {
        key.map { .newestPer($0) } ?? .newest
    }

    /// Whether what is kept depends on a client's function.
    var isKeyed: Bool {
        switch self.keeping {
        case .newestPer: true
        case .all, .newest: false
        }
    }

    /// Whether every value is delivered as it comes, so that nothing has to be kept.
    var isStraight: Bool {
        switch (self.keeping, self.timing) {
        case (.all, .atOnce): true
        case (.newest, _), (.newestPer, _), (.all, _): false
        }
    }

    /// What is delivered at one time.
    public struct Batch: Sendable {
        /// The values, at least one, the newest last.
        public let values: [Value]
        /// From the first transition that this accounts for to the last, whatever became of them;
        /// numbers in order of arrival where there is no machine.
        public let seqs: ClosedRange<UInt64>
        /// How many were left out because a newer one replaced them.
        public let coalesced: Int
        /// How many were lost: there was no room for them, or the context was too late.
        ///
        /// Nobody can say whether those that a context was too late for would have passed the
        /// filter.
        public let dropped: Int
    }
}

extension Delivery.Batch: Equatable where Value: Equatable {}
extension Delivery.Batch: Hashable where Value: Hashable {}

/// When the values are delivered.
enum DeliveryTiming: Sendable {
    /// As they come.
    case atOnce
    /// When the context has got to all that there are for now.
    case afterBurst
    case batch(every: Duration, atMost: Int)
    case paced(every: Duration)
    case settled(after: Duration)
}

/// Which of the values that a receptionist receives its task is given, and when: what is kept of those that have
/// not been given, and when they are.
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

    /// Every one, by itself.
    public static var each: Self { Self(keeping: .all, timing: .atOnce) }

    /// Of those that have gathered when the context gets to them, the newest.
    public static var latest: Self { Self(keeping: .newest, timing: .afterBurst) }

    /// Of those that have gathered, the newest of each key, in the order in which they came.
    public static func latestPer(_ key: @escaping @Sendable (Value) -> AnyHashable) -> Self {
        Self(keeping: .newestPer(key), timing: .afterBurst)
    }

    /// All, in one batch at an interval, which begins with the first; sooner if there are so many.
    public static func batch(every interval: Duration, atMost count: Int) -> Self {
        Self(keeping: .all, timing: .batch(every: interval, atMost: count))
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

    private static func newest(_ key: (@Sendable (Value) -> AnyHashable)?) -> Keeping {
        key.map { .newestPer($0) } ?? .newest
    }
}

/// What a receptionist's task is given at one time.
public struct Batch<Value: Sendable>: Sendable {
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

extension Batch: Equatable where Value: Equatable {}
extension Batch: Hashable where Value: Hashable {}

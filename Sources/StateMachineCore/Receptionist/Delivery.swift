/// Which of the values that a receptionist receives its task is given, and when.
///
/// Whatever is left out is counted; the newest never is.
public enum Delivery<Value: Sendable>: Sendable {
    /// Every one, by itself.
    case each
    /// Of those that have gathered when the context gets to them, the newest.
    case latest
    /// Of those that have gathered, the newest of each key, in the order in which they came.
    ///
    /// The key is asked for on the target context, and says the same of the same value every time.
    case latestPer(@Sendable (Value) -> AnyHashable)
    /// All, in one batch at an interval, which begins with the first; sooner if there are so many.
    case batch(every: Duration, atMost: Int)
    /// The first at once, and then, at each interval, the newest if there is a new one.
    case paced(every: Duration)
    /// The newest, when none has come for so long.
    case settled(after: Duration)
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

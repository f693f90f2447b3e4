/// How often a watch has lines.
public struct Pace: Hashable, Sendable {
    /// Whether changes that have not been sent when there is a newer one are left out; how many
    /// shows as ``Line/skipped``.
    public var isLatest: Bool
    /// The shortest time between two changes; nil means none.
    public var every: Duration?
    /// After which silence the daemon gives a sign of life; nil means never.
    public var beat: Duration?

    /// Every change at once, unless said otherwise.
    public init(isLatest: Bool = false, every: Duration? = nil, beat: Duration? = nil) {
        self.isLatest = isLatest
        self.every = every
        self.beat = beat
    }
}

extension Duration {
    /// Milliseconds as a request has them: rounded up, so that no wait ends early; 0 if negative.
    var wholeMilliseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = self.components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        // The protocol's integers stay below 2^53; so many milliseconds are 285,000 years.
        let bound = Int64(RequestLimits.integerBound) - 1
        return UInt64(seconds >= bound / 1000 ? bound : seconds * 1000 + fraction)
    }
}

/// How often a watch sends lines.
public struct Pace: Hashable, Sendable {
    /// Whether a change that is still unsent when a newer one comes is left out; ``Line/skipped``
    /// counts those.
    public var isLatest: Bool
    /// The shortest time between two changes; nil: no limit.
    public var every: Duration?
    /// How long a silence lasts before the daemon sends a sign of life; nil: it never does.
    public var beat: Duration?

    /// By default every change at once.
    public init(isLatest: Bool = false, every: Duration? = nil, beat: Duration? = nil) {
        self.isLatest = isLatest
        self.every = every
        self.beat = beat
    }
}

extension Duration {
    /// Milliseconds for a request: rounded up, so that no wait ends early; 0 if negative.
    var wholeMilliseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = self.components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        // The protocol's integers stay below 2^53; that many milliseconds are 285,000 years.
        let bound = Int64(RequestLimits.integerBound) - 1
        return UInt64(seconds >= bound / 1000 ? bound : seconds * 1000 + fraction)
    }
}

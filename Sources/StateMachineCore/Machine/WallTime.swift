import CPlatform

/// A moment of the wall clock: microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// The wall clock may be set back; the order of transitions is their ``Transition/seq``.
public struct WallTime: Hashable, Comparable, Sendable, Codable {
    /// Microseconds since the epoch, negative before it.
    public let microseconds: Int64

    /// The moment that many microseconds after the epoch.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// This moment, by `CLOCK_REALTIME`.
    public static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// Whether the left moment is before the right one.
    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.microseconds < right.microseconds
    }
}

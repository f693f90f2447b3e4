/// Whether the wall clock is believed after a start, at which it may be wrong.
///
/// One that is a week and more past the last time that is known is doubted, until it is set or has run for a day.
package struct ClockDoubt: Sendable {
    /// A clock that advances by more is doubted: longer than a machine is left alone for holidays,
    /// and a wrong clock is mostly wrong by years.
    package static let longestPause = 7 * 86_400_000_000 as Int64

    /// How long it is doubted: until the check a day later, which may come a little early.
    package static let length = 23 * 3_600_000_000 as Int64

    /// By how much a clock is put right at least when it is set: more than it is slewed by in a day.
    ///
    /// A minute: adjtime(3) makes it faster by half a thousandth at most.
    private static let setting = 60_000_000 as Int64

    /// What the clocks showed when it began; nil if there is none.
    private let beginning: StayMoment?

    /// The doubt of a start at that moment, before which it was `known`.
    package init(at start: StayMoment, after known: WallTime) {
        let isDoubted = known.microseconds < start.wall.microseconds - Self.longestPause
        self.beginning = isDoubted ? start : nil
    }

    /// Whether the wall clock is believed by now.
    package func permits(_ now: StayMoment) -> Bool {
        guard let beginning else { return true }
        let run = now.uptime - beginning.uptime
        let advance = now.wall.microseconds - beginning.wall.microseconds
        return run >= Self.length || abs(advance - run) >= Self.setting
    }
}

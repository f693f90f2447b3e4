/// What the two clocks show at one moment: the one that deadlines are counted by, and the one that people read.
package struct StayMoment: Hashable, Sendable {
    /// Microseconds of `CLOCK_BOOTTIME`: since the machine was started, those in which it slept included.
    package let uptime: Int64
    /// What the wall's clock shows then.
    package let wall: WallTime

    package init(uptime: Int64, wall: WallTime) {
        self.uptime = uptime
        self.wall = wall
    }
}

/// The clocks and timers that stays are measured with; a test has its own.
package protocol StayClock: Sendable {
    /// Now.
    var moment: StayMoment { get }

    /// When a change that bears that stamp, and is being committed, was made.
    func moment(ofChangeAt stamp: WallTime) -> StayMoment

    /// A timer that is not set yet, and rings from anywhere; nil if there is none left.
    func timer(_ ring: @escaping @Sendable () -> Void) -> (any StayTimer)?

    /// Has `handler` called, from anywhere, whenever the wall's clock has been set, until what is returned is let
    /// go of; nil if that cannot be told.
    func onSetting(_ handler: @escaping @Sendable () -> Void) -> (any Sendable)?
}

/// Rings once for each time that it is set, and may ring once more after it was set anew.
package protocol StayTimer: Sendable {
    /// Rings after that much of uptime, and not when it was to ring before.
    func set(after delay: Duration)

    /// Does not ring.
    func stop()
}

extension StayClock {
    /// Now, but by the wall's clock as the change shows it, so that a deadline is its stay's `at` and the delay.
    package func moment(ofChangeAt stamp: WallTime) -> StayMoment {
        StayMoment(uptime: self.moment.uptime, wall: stamp)
    }
}

extension Duration {
    /// Microseconds, the rest cut off.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000
    }
}

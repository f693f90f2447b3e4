/// What the two clocks show at one moment: the one that deadlines are counted by, and the one that people read.
package struct StayMoment: Hashable, Sendable {
    /// Microseconds of `CLOCK_BOOTTIME`: since boot, including those asleep.
    package let uptime: Int64
    /// What the wall clock shows then.
    package let wall: WallTime

    package init(uptime: Int64, wall: WallTime) {
        self.uptime = uptime
        self.wall = wall
    }
}

/// The clocks and timers that stays are measured with; tests use their own.
package protocol StayClock: Sendable {
    /// Now.
    var moment: StayMoment { get }

    /// When a change with that stamp, which is being committed, was made.
    func moment(ofChangeAt stamp: WallTime) -> StayMoment

    /// A timer that is not set yet, and rings from anywhere; nil if there is none left.
    func timer(_ ring: @escaping @Sendable () -> Void) -> (any StayTimer)?

    /// Calls `handler`, from anywhere, whenever the wall clock has been set, until the returned
    /// value is released; nil if that cannot be detected.
    func onSetting(_ handler: @escaping @Sendable () -> Void) -> (any Sendable)?
}

/// Rings once for each time that it is set, and may ring once more after it was set anew.
package protocol StayTimer: Sendable {
    /// Rings after that much uptime, and no longer when it was to ring before.
    func set(after delay: Duration)

    /// Keeps it from ringing.
    func stop()
}

extension StayClock {
    /// Now, but with the change's stamp as the wall time, so that a deadline is its stay's `at`
    /// plus the delay.
    package func moment(ofChangeAt stamp: WallTime) -> StayMoment {
        StayMoment(uptime: self.moment.uptime, wall: stamp)
    }
}

extension Duration {
    /// Whole microseconds, truncated.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000
    }
}

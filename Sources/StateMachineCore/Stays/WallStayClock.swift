/// The clock by which times count that several hosts have in common: the wall clock, since none of them knows another's uptime.
///
/// Whoever sets it has what is due come sooner or later, as on every host that is right.
package struct WallStayClock: StayClock {
    private let base: any StayClock

    /// - Parameter base: has the wall clock, and timers.
    package init(_ base: any StayClock = KernelClock()) { self.base = base }

    package var moment: StayMoment { StayMoment(self.base.moment.wall) }

    package func moment(ofChangeAt stamp: WallTime) -> StayMoment { StayMoment(stamp) }

    package func timer(_ ring: @escaping @Sendable () -> Void) -> (any StayTimer)? {
        self.base.timer(ring)
    }

    package func onSetting(_ handler: @escaping @Sendable () -> Void) -> (any Sendable)? {
        self.base.onSetting(handler)
    }
}

extension StayMoment {
    /// A moment that is known by the wall clock alone.
    package init(_ wall: WallTime) { self.init(uptime: wall.microseconds, wall: wall) }
}

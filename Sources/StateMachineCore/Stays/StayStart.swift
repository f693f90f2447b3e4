/// The moment from which the deadline of a stay counts.
///
/// Within a boot the uptime decides, whatever happens to the wall clock. From one boot to the next
/// there is only the wall clock.
package struct StayStart: Hashable, Sendable {
    /// The seq that began the stay.
    package let stay: UInt64
    /// When, by the clocks of this boot; if it was before that, the uptime is negative.
    package let moment: StayMoment
    /// What the wall clock showed then, if the machine has been booted since; nil if not.
    package let origin: WallTime?
    /// The same of the changes that entered groups whose times still count.
    package let groups: [StayStart]

    package init(
        stay: UInt64,
        moment: StayMoment,
        origin: WallTime? = nil,
        groups: [StayStart] = []
    ) {
        self.stay = stay
        self.moment = moment
        self.origin = origin
        self.groups = groups
    }

    /// From when on a group's time counts that was entered with that change.
    package func start(ofGroupAt seq: UInt64) -> StayStart {
        self.groups.first { $0.stay == seq } ?? self
    }

    /// The same, alone.
    var withoutGroups: StayStart {
        StayStart(stay: self.stay, moment: self.moment, origin: self.origin)
    }

    /// How far the two clocks may drift apart, between two readings and from a change's stamp to
    /// its commit, before the wall clock is taken to have been set.
    private static let tolerance: Int64 = 1_000_000

    /// The microseconds that have passed since.
    package func elapsed(at now: StayMoment) -> Int64 {
        max(0, now.uptime &- self.moment.uptime)
    }

    /// The moment that much later, by the wall clock.
    package func wall(after delay: Duration) -> WallTime {
        WallTime(microseconds: self.moment.wall.microseconds &+ delay.wholeMicroseconds)
    }

    /// The same after a boot: by the wall clock, with an elapsed time of at least zero.
    package func carried(to now: StayMoment) -> StayStart {
        let origin = self.origin ?? self.moment.wall
        // A clock that is behind the beginning may still have advanced since it was last read.
        let since = now.wall < origin ? min(self.moment.wall, now.wall) : origin
        let elapsed = now.wall.microseconds &- since.microseconds
        return StayStart(
            stay: self.stay,
            moment: StayMoment(uptime: now.uptime &- elapsed, wall: since),
            origin: origin,
            groups: self.groups.map { $0.carried(to: now) }
        )
    }

    /// The same after the wall clock may have been set.
    ///
    /// If the machine has been booted since, a clock that now shows that more has passed is
    /// believed.
    package func adjusted(to now: StayMoment) -> StayStart {
        let own = self.adjustedAlone(to: now)
        guard !self.groups.isEmpty else { return own }
        return StayStart(
            stay: own.stay,
            moment: own.moment,
            origin: own.origin,
            groups: self.groups.map { $0.adjustedAlone(to: now) }
        )
    }

    private func adjustedAlone(to now: StayMoment) -> StayStart {
        let elapsed = self.elapsed(at: now)
        if let origin {
            let passed = now.wall.microseconds &- origin.microseconds
            if passed > elapsed &+ Self.tolerance {
                let moment = StayMoment(uptime: now.uptime &- passed, wall: origin)
                return StayStart(stay: self.stay, moment: moment, origin: origin)
            }
        }
        let wall = WallTime(microseconds: now.wall.microseconds &- elapsed)
        let shift = wall.microseconds &- self.moment.wall.microseconds
        guard shift.magnitude > Self.tolerance.magnitude else { return self }
        let moment = StayMoment(uptime: self.moment.uptime, wall: wall)
        return StayStart(stay: self.stay, moment: moment, origin: self.origin)
    }
}

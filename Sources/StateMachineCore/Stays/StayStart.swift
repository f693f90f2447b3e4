/// Since when the deadline of a stay counts.
///
/// Within a start of the machine the uptime decides, and it does not matter what becomes of the wall's clock. From
/// one start to the next there is only the wall's clock.
package struct StayStart: Hashable, Sendable {
    /// The seq that began the stay.
    package let stay: UInt64
    /// When, as the clocks of this start of the machine have it; if it was before that, the uptime is negative.
    package let moment: StayMoment
    /// What the wall's clock showed then, if the machine has been started anew since; nil if it has not.
    package let origin: WallTime?

    package init(stay: UInt64, moment: StayMoment, origin: WallTime? = nil) {
        self.stay = stay
        self.moment = moment
        self.origin = origin
    }

    /// By how much the two clocks may have gone on differently before the wall's is taken to have been set:
    /// between two looks at them, and from a change's stamp to its commit.
    private static let tolerance: Int64 = 1_000_000

    /// The microseconds that have passed since.
    package func elapsed(at now: StayMoment) -> Int64 {
        max(0, now.uptime &- self.moment.uptime)
    }

    /// The moment that much later, as the wall's clock has it.
    package func wall(after delay: Duration) -> WallTime {
        WallTime(microseconds: self.moment.wall.microseconds &+ delay.wholeMicroseconds)
    }

    /// The same stay, whose deadline begins anew.
    package func renewed(at now: StayMoment) -> StayStart {
        StayStart(stay: self.stay, moment: now)
    }

    /// The same after the machine has been started anew: by the wall's clock, and at least nothing has passed.
    package func carried(to now: StayMoment) -> StayStart {
        let origin = self.origin ?? self.moment.wall
        // A clock that is behind the beginning may still have gone on since it was last looked at.
        let since = now.wall < origin ? min(self.moment.wall, now.wall) : origin
        let elapsed = now.wall.microseconds &- since.microseconds
        return StayStart(
            stay: self.stay,
            moment: StayMoment(uptime: now.uptime &- elapsed, wall: since),
            origin: origin
        )
    }

    /// The same after the wall's clock may have been set.
    ///
    /// If the machine has been started anew since, a clock that now shows that more has passed is believed.
    package func adjusted(to now: StayMoment) -> StayStart {
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

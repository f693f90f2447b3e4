import StateMachineCore

/// When something began: by the wall clock, and by the uptime of the boot in which that was noted.
package struct Beginning: Hashable, Sendable {
    let wall: WallTime
    /// In microseconds; nil for one of another boot, and in a record that does not have it.
    private(set) var uptime: Int64?

    init(_ moment: StayMoment) { (self.wall, self.uptime) = (moment.wall, moment.uptime) }

    init(wall: WallTime, uptime: Int64?) { (self.wall, self.uptime) = (wall, uptime) }

    /// The time since then, at least zero: by the uptime, whatever the wall clock was set to, else by that clock.
    func elapsed(at now: StayMoment) -> Duration {
        let microseconds =
            self.uptime.map { now.uptime &- $0 } ?? now.wall.microseconds - self.wall.microseconds
        return .microseconds(max(0, microseconds))
    }

    /// The same in another boot, which has another uptime.
    var ofAnotherBoot: Beginning { Beginning(wall: self.wall, uptime: nil) }
}

/// A pause before a command is tried again.
package struct Pause: Hashable, Sendable {
    let began: Beginning
    let length: Duration

    init(_ length: Duration, from began: Beginning) {
        self.began = began
        self.length = length
    }

    /// What is left of it, never more than all of it.
    func left(at now: StayMoment) -> Duration {
        max(.zero, self.length - self.began.elapsed(at: now))
    }

    /// The same in a process that goes on at that moment, perhaps in another boot.
    func carried(to now: StayMoment, inSameBoot: Bool) -> Pause {
        let began = inSameBoot ? self.began : self.began.ofAnotherBoot
        return Pause(Pause(self.length, from: began).left(at: now), from: Beginning(now))
    }
}

/// How it is with a unit that the manager has loaded.
package struct UnitStatus: Hashable, Sendable {
    /// With its suffix.
    package let name: String
    /// `active`, `failed` and so on, and what that is in particular: `running`, `exited`.
    package let active: String
    package let sub: String
    /// Whether the manager has still to do something with it: to start or to stop it.
    package let hasJob: Bool
    /// Whether somebody has told the manager to stop it while it was waited for; whatever comes of that looks
    /// like an end of its own.
    package internal(set) var wasToldToStop = false

    package init(name: String, active: String, sub: String, hasJob: Bool) {
        self.name = name
        self.active = active
        self.sub = sub
        self.hasJob = hasJob
    }

    /// It runs, and nobody wants anything else of it.
    var isAtRest: Bool { self.active == "active" && !self.hasJob }

    /// It is stopping because somebody wants it to, and not because its time is over.
    var isBeingStopped: Bool { self.active == "deactivating" && self.hasJob }

    /// It is no longer being started.
    package var hasBegun: Bool { !["inactive", "activating"].contains(self.active) }

    /// A service with `RemainAfterExit=` has ended, and its end can be read.
    package var hasEnded: Bool {
        self.active == "failed" || self.active == "active" && self.sub == "exited"
    }

    /// Nothing of it is left, and nothing is going to be.
    package var isOver: Bool { self.active == "failed" || self.isGone }

    /// It was stopped, and the manager is about to forget it.
    package var isGone: Bool { self.active == "inactive" && !self.hasJob }
}

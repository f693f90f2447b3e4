/// The status of a unit that the manager has loaded.
package struct UnitStatus: Hashable, Sendable {
    /// With its suffix.
    package let name: String
    /// `active`, `failed` and so on, with the details: `running`, `exited`.
    package let active: String
    package let sub: String
    /// Whether the manager still has a job for it: to start or to stop it.
    package let hasJob: Bool
    /// Whether the manager was told to stop it while it was waited for; the result then looks as if
    /// it had ended by itself.
    package internal(set) var wasToldToStop = false

    package init(name: String, active: String, sub: String, hasJob: Bool) {
        self.name = name
        self.active = active
        self.sub = sub
        self.hasJob = hasJob
    }

    /// Whether it runs, without a job.
    var isAtRest: Bool { self.active == "active" && !self.hasJob }

    /// Whether it is stopping because of a job, and not because its time is over.
    var isBeingStopped: Bool { self.active == "deactivating" && self.hasJob }

    /// Whether a service with `RemainAfterExit=` has ended, so that its end can be read.
    package var hasEnded: Bool {
        self.active == "failed" || self.active == "active" && self.sub == "exited"
    }

    /// Whether nothing of it is left, and nothing is to come.
    package var isOver: Bool { self.active == "failed" || self.isGone }

    /// Whether it was stopped, and the manager is about to forget it.
    package var isGone: Bool { self.active == "inactive" && !self.hasJob }
}

/// What a signal from the manager says about units.
enum UnitSignal: Hashable, Sendable {
    /// Something about the unit of that object has changed.
    case changed(path: String)
    /// Something about the unit of that name has changed: a job of it has ended, or it is no longer
    /// loaded.
    case moved(name: String)
    /// A job for the unit of that name was requested: to start it, or to stop it.
    case asked(name: String)
    /// The manager has reloaded everything.
    case reloaded
    /// Nothing that is waited for here.
    case other

    init(_ message: BusMessage) throws(BusError) {
        switch message.member {
        case "PropertiesChanged": self = .changed(path: message.path)
        case "UnitRemoved": self = .moved(name: try message.text())
        case "JobNew", "JobRemoved":
            // The job's number and its object.
            _ = (try message.number32(), try message.text("o"))
            let name = try message.text()
            self = message.member == "JobNew" ? .asked(name: name) : .moved(name: name)
        case "Reloading": self = .reloaded
        default: self = .other
        }
    }
}

/// What the manager knows about the main process of a service.
package struct ServiceProcess: Hashable, Sendable {
    /// How it ended.
    package enum End: Hashable, Sendable {
        /// It has not ended, or there never was one.
        case none
        case exited(Int)
        case killed(signal: Int)
    }

    /// `success`, `exit-code`, `signal`, `timeout` and so on: systemd.exec(5), `$SERVICE_RESULT`.
    package let result: String
    package let end: End
    /// When it began and ended, by the monotonic clock; zero if it did not.
    package let started: Duration
    package let ended: Duration

    package init(result: String, end: End, started: Duration, ended: Duration) {
        self.result = result
        self.end = end
        self.started = started
        self.ended = ended
    }
}

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

/// Tells the log and the status reporter about changes, once everybody has been written to.
///
/// Belongs to the event loop.
struct StateReporters {
    /// Gets all changes.
    private(set) var log: TransitionLogger?
    /// Gets the newest change.
    private var status: StatusReporter?
    /// The newest seq that the log has been told about.
    private var logged: UInt64

    /// - Parameter seq: the newest change, which nobody needs to be told about.
    init(after seq: UInt64) {
        self.logged = seq
    }

    /// Logs everything after `seq` from now on.
    mutating func log(to log: TransitionLogger, after seq: UInt64) {
        self.logged = seq
        self.log = log
    }

    /// Tells the log about transitions it has not seen yet.
    ///
    /// - Parameters:
    ///   - ring: holds them, unless they were too long.
    ///   - last: the newest of them.
    ///   - perSecond: how many changes a second are logged one by one.
    mutating func tellLog(
        of ring: borrowing ChangeRing,
        through last: EncodedSnapshot,
        perSecond: Int
    ) {
        guard let log = self.log, self.logged < ring.head else { return }
        log.log(ring, after: self.logged, through: last, perSecond: perSecond)
        self.logged = ring.head
    }

    /// Shows the state on the reporter, now and whenever it changes.
    mutating func show(_ snapshot: EncodedSnapshot, watches: Int, to status: StatusReporter) {
        self.status = status
        status.changed(watches: watches)
        status.changed(to: snapshot)
    }

    func changed(to snapshot: EncodedSnapshot) { self.status?.changed(to: snapshot) }

    func changed(watches: Int) { self.status?.changed(watches: watches) }
}

/// Who is told of changes beside the clients, when everybody has been written to: the log, and who shows the state.
///
/// Belongs to the event loop.
struct StateReporters {
    /// Told of all changes.
    private(set) var log: TransitionLogger?
    /// Told of the newest.
    private var status: StatusReporter?
    /// The newest seq that the log was told of.
    private var logged: UInt64

    /// - Parameter seq: the newest change, which nobody is to be told of.
    init(after seq: UInt64) {
        self.logged = seq
    }

    /// Has everything logged that follows a change.
    mutating func log(to log: TransitionLogger, after seq: UInt64) {
        self.logged = seq
        self.log = log
    }

    /// Has the log told of what it has not been told of.
    ///
    /// - Parameters:
    ///   - ring: has it, unless it was too long.
    ///   - last: the newest of it.
    ///   - perSecond: how many changes of a second are logged one by one.
    mutating func tellLog(
        of ring: borrowing ChangeRing,
        through last: EncodedSnapshot,
        perSecond: Int
    ) {
        guard let log = self.log, self.logged < ring.head else { return }
        log.log(ring, after: self.logged, through: last, perSecond: perSecond)
        self.logged = ring.head
    }

    /// Has the reporter told of the state, now and when it changes.
    mutating func show(_ snapshot: EncodedSnapshot, watches: Int, to status: StatusReporter) {
        self.status = status
        status.changed(watches: watches)
        status.changed(to: snapshot)
    }

    func changed(to snapshot: EncodedSnapshot) { self.status?.changed(to: snapshot) }

    func changed(watches: Int) { self.status?.changed(watches: watches) }
}

import StateMachineWire

/// An answer to `history` that is being written: which changes it still has to show.
///
/// Belongs to the event loop.
final class HistoryRun {
    let id: RequestID?
    let only: [Pattern]?
    /// The line that asked for it.
    let request: [UInt8]
    /// Set if its cursor could not be used; it began with the oldest change kept.
    var resync: ServerLine.Resync?

    /// The last change that was looked at, and the last that it is about.
    var cursor: UInt64
    let end: UInt64
    private(set) var left: UInt64
    private(set) var count: UInt64 = 0

    /// Whether it ends before its end, with more to be had.
    private(set) var isStopped = false

    /// What it is being sent from before the ring.
    var past = PastReading()

    /// What its lines begin with.
    let head: LineHead

    init(
        _ call: HistoryCall,
        id: RequestID?,
        after cursor: UInt64,
        through end: UInt64,
        resync: ServerLine.Resync?,
        request: [UInt8]
    ) {
        self.request = request
        self.id = id
        self.only = call.only
        self.resync = resync
        self.cursor = cursor
        self.end = end
        self.left = call.limit
        self.head = LineHead(id)
    }

    /// Has it end here.
    func stop() { self.isStopped = true }

    func sent(_ lines: Int) {
        self.left -= UInt64(lines)
        self.count += UInt64(lines)
    }
}

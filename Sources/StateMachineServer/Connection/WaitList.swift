import StateMachineProtocol

/// A connection's unanswered waits, in the order of their requests.
///
/// They count towards what the connection and its user may have kept and checked.
///
/// Owns the list; only ``Waits`` changes it. Belongs to the event loop.
struct WaitList {
    private let kept: KeptRequests

    private(set) var waits: [PendingWait] = [] {
        didSet {
            let bytes = self.waits.reduce(0) { $0 + $1.request.count }
            self.kept.change(by: bytes - self.requestBytes)
            self.requestBytes = bytes
            let excepting = self.waits.reduce(0) { patterns, wait in
                patterns + (wait.call.hasExceptions ? wait.call.patterns : 0)
            }
            self.kept.except(by: excepting - self.exceptingPatterns)
            self.exceptingPatterns = excepting
        }
    }
    /// Bytes of the requests that asked for them.
    private var requestBytes = 0
    /// Patterns of the waits that every change is checked against.
    private var exceptingPatterns = 0

    init(in kept: KeptRequests) {
        self.kept = kept
    }

    /// Refuses one more if the limit is reached.
    func checkRoom(of limit: Int) throws(WireError) {
        try self.kept.checkRoom("waits", self.waits.count, of: limit)
    }

    /// Refuses to keep one if that would take too much.
    func checkRoom(for wait: PendingWait) throws(WireError) {
        try self.kept.checkRoom(for: wait.request)
        try self.kept.checkExceptions(of: wait.call)
    }

    func contains(_ wait: PendingWait) -> Bool { self.waits.contains { $0 === wait } }

    mutating func append(_ wait: PendingWait) { self.waits.append(wait) }

    /// Removes a wait; false if it was not there.
    mutating func remove(_ wait: PendingWait) -> Bool {
        guard let index = self.waits.firstIndex(where: { $0 === wait }) else { return false }
        self.waits.remove(at: index)
        return true
    }

    /// Keeps only those waits.
    mutating func keep(_ waits: [PendingWait]) { self.waits = waits }
}

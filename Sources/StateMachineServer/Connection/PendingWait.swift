import NIOCore
import StateMachineProtocol

/// A `wait` that has not been answered.
///
/// Belongs to the event loop.
final class PendingWait {
    let id: RequestID?
    private(set) var call: WaitCall
    /// The line that asked for it.
    let request: [UInt8]
    /// Set if its cursor could not be used; it was evaluated from the current state on.
    var resync: ServerLine.Resync?
    /// The last earlier change it was checked against; nil if only new changes are checked.
    var passed: UInt64?
    private var timeout: Scheduled<Void>?
    private unowned let owner: Waits
    /// Whether changes are checked against it.
    var isListed = false
    /// The state that has ended it; its answer is due then.
    private(set) var entered: EncodedSnapshot?
    /// When its time is over.
    let deadline: NIODeadline?

    init(
        id: RequestID?,
        call: WaitCall,
        resync: ServerLine.Resync?,
        request: [UInt8],
        of owner: Waits
    ) {
        self.owner = owner
        self.id = id
        self.request = request
        self.deadline = call.timeoutMs.map { .now() + .bounded(milliseconds: $0) }
        self.call = call
        self.resync = resync
    }

    /// Whether changes from before it began have yet to be examined.
    var isSearching: Bool { self.passed != nil }

    /// Notes that a state has ended it.
    func ended(by entered: EncodedSnapshot) {
        self.entered = entered
        self.owner.hasEnded()
    }

    /// Resolves its patterns anew after a redeclaration; not while changes are checked against it.
    func redeclared(by schema: StateSchema) {
        self.call.until = schema.resolvedAgain(self.call.until)
        self.call.fail = schema.resolvedAgain(self.call.fail)
    }

    /// Starts its timeout, if it has one.
    func startTimeout(on loop: any EventLoop) {
        guard let timeoutMs = self.call.timeoutMs, timeoutMs > 0 else { return }
        self.timeout = loop.assumeIsolated().scheduleTask(
            in: .bounded(milliseconds: timeoutMs)
        ) { [weak owner = self.owner] in
            self.timeout = nil
            owner?.timeCame(for: self)
        }
    }

    /// Cancels its timeout.
    func cancelTimeout() {
        self.timeout?.cancel()
        self.timeout = nil
    }

    /// How a state ends the wait.
    enum Result: Sendable {
        case reached(Pattern)
        case failed(Pattern)
    }
}

extension WaitCall {
    var patterns: Int { self.until.count + self.fail.count }

    /// How a state ends the wait; nil if it goes on.
    func result(_ matches: (Pattern) -> Bool) -> PendingWait.Result? {
        if let pattern = self.fail.first(where: matches) { return .failed(pattern) }
        if let pattern = self.until.first(where: matches) { return .reached(pattern) }
        return nil
    }
}

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

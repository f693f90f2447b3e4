import Synchronization

/// Whether calls may begin, and what waits for the running one to end.
///
/// Every call first claims it, going from idle to running, so that after ``cancel()`` none begins.
/// One call at a time: a lane sees to that.
///
/// Guarded state: `state` is atomic; `waiters` is behind its own lock.
struct CallGuard: ~Copyable, Sendable {
    let state = Atomic<UInt8>(0)
    let waiters = Lock<[@Sendable () -> Void]>([])

    static var running: UInt8 { 1 }
    static var cancelled: UInt8 { 2 }

    var isCancelled: Bool {
        self.state.load(ordering: .sequentiallyConsistent) & Self.cancelled != 0
    }

    /// No call begins after this returns.
    func cancel() {
        self.state.bitwiseOr(Self.cancelled, ordering: .sequentiallyConsistent)
    }

    /// As ``cancel()``; `quiet` is called when no call is running either, at once if none is.
    func cancel(quiet: @escaping @Sendable () -> Void) {
        self.cancel()
        let isQuiet = self.waiters.withLock { waiters in
            // Looked at under the lock: the ending call clears the flag before it takes the lock.
            guard self.state.load(ordering: .sequentiallyConsistent) & Self.running != 0 else {
                return true
            }
            waiters.append(quiet)
            return false
        }
        if isQuiet { quiet() }
    }

    /// Runs `body` unless cancelled; returns what it returned, else false.
    func run(_ body: () -> Bool) -> Bool {
        guard
            self.state.compareExchange(
                expected: 0,
                desired: Self.running,
                ordering: .sequentiallyConsistent
            ).exchanged
        else { return false }
        let result = body()
        let isStillOurs = self.state.compareExchange(
            expected: Self.running,
            desired: 0,
            ordering: .sequentiallyConsistent
        ).exchanged
        if !isStillOurs { self.endCancelled() }
        return result
    }

    /// Ends a call that was cancelled meanwhile.
    func endCancelled() {
        self.state.bitwiseAnd(~Self.running, ordering: .sequentiallyConsistent)
        let waiters = self.waiters.withLock { waiters in
            defer { waiters = [] }
            return waiters
        }
        for quiet in waiters { quiet() }
    }
}

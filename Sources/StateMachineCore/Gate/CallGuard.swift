import Synchronization

/// Whether calls may begin, and who waits until none does and none runs.
///
/// Every call first claims it, going from idle to running, so that after ``cancel()`` none begins.
/// One call at a time: a drain sees to that.
///
/// Guarded state: `state` is atomic; `waiters` is behind its own lock.
struct CallGuard: ~Copyable, Sendable {
    let state = Atomic<UInt8>(0)
    /// By identity: a queue that is behind may have any number to forget.
    let waiters = Lock<[ObjectIdentifier: Once<Void>]>([:])

    static var running: UInt8 { 1 }
    static var cancelled: UInt8 { 2 }

    var isCancelled: Bool {
        self.state.load(ordering: .sequentiallyConsistent) & Self.cancelled != 0
    }

    /// No call begins after this returns; `quiet` is called when none is running either, at once if
    /// none is.
    func cancel(quiet: @escaping @Sendable () -> Void) {
        self.state.bitwiseOr(Self.cancelled, ordering: .sequentiallyConsistent)
        let waiter = Once<Void> { quiet() }
        self.waiters.withLock { $0[ObjectIdentifier(waiter)] = waiter }
        self.tellIfQuiet()
    }

    /// Has `waiter` told when no call runs and none will begin.
    ///
    /// - Returns: false if that is so already.
    func wait(_ waiter: Once<Void>) -> Bool {
        self.waiters.withLock { waiters in
            guard self.state.load(ordering: .sequentiallyConsistent) != Self.cancelled else {
                return false
            }
            waiters[ObjectIdentifier(waiter)] = waiter
            return true
        }
    }

    /// The waiter waits no longer.
    func forget(_ waiter: Once<Void>) {
        self.waiters.withLock { $0[ObjectIdentifier(waiter)] = nil }
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
        self.tellIfQuiet()
    }

    private func tellIfQuiet() {
        let told = self.waiters.withLock { waiters -> [ObjectIdentifier: Once<Void>] in
            // Looked at under the lock: the ending call clears the flag before it takes the lock.
            guard self.state.load(ordering: .sequentiallyConsistent) == Self.cancelled else {
                return [:]
            }
            return exchange(&waiters, with: [:])
        }
        for waiter in told.values { waiter.give(()) }
    }
}

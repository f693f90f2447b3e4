import StateMachineCore

/// A clock whose time passes when a test says so.
public final class ManualClock: Clock, Sendable {
    /// A moment: how long after the clock's beginning.
    public struct Instant: InstantProtocol {
        let sinceBeginning: Duration

        /// The moment that much later.
        public func advanced(by duration: Duration) -> Instant {
            Instant(sinceBeginning: self.sinceBeginning + duration)
        }

        /// How much later the other one is.
        public func duration(to other: Instant) -> Duration {
            other.sinceBeginning - self.sinceBeginning
        }

        /// Whether the left moment is the earlier one.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.sinceBeginning < right.sinceBeginning
        }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct Guarded {
        var time = Instant(sinceBeginning: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var lastID = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let guarded = Lock(Guarded())

    /// A clock at its beginning.
    public init() {}

    /// The present moment.
    public var now: Instant { self.guarded.withLock { $0.time } }

    /// No duration is too short.
    public var minimumResolution: Duration { .zero }

    /// Lets time pass; sleepers whose time has come wake, the earliest first.
    public func advance(by duration: Duration) {
        let woken = self.guarded.withLock { guarded in
            let time = guarded.time.advanced(by: duration)
            guarded.time = time
            let due = guarded.sleepers.filter { $0.value.deadline <= time }
            for id in due.keys { guarded.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits until that many sleep, or the task is cancelled.
    ///
    /// A sleeper whose time no longer matters counts until whoever had it sleep knows: a machine
    /// stops the clock of a stay that is over on a queue of its own. So where a stay begins anew,
    /// wait for `machine.flush()` first.
    public func sleepers(_ count: Int) async {
        let id = self.newID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = self.guarded.withLock { guarded in
                    if Task.isCancelled || guarded.sleepers.count >= count { return true }
                    guarded.waiters[id] = Waiter(count: count, continuation: continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiter = self.guarded.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume()
        }
    }

    private func newID() -> Int {
        self.guarded.withLock { guarded in
            guarded.lastID += 1
            return guarded.lastID
        }
    }

    /// Sleeps until the test has let enough time pass, or the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = self.newID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.begin(id, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = self.guarded.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func begin(_ id: Int, _ sleeper: Sleeper) {
        enum Beginning {
            case sleeps([CheckedContinuation<Void, Never>])
            case isDue
            case isCancelled
        }
        let beginning = self.guarded.withLock { guarded -> Beginning in
            if Task.isCancelled { return .isCancelled }
            if sleeper.deadline <= guarded.time { return .isDue }
            guarded.sleepers[id] = sleeper
            let count = guarded.sleepers.count
            let ready = guarded.waiters.filter { $0.value.count <= count }
            for id in ready.keys { guarded.waiters[id] = nil }
            return .sleeps(ready.values.map(\.continuation))
        }
        switch beginning {
        case .sleeps(let ready):
            for continuation in ready { continuation.resume() }
        case .isDue: sleeper.continuation.resume()
        case .isCancelled: sleeper.continuation.resume(throwing: CancellationError())
        }
    }
}

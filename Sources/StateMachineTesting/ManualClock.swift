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

    private struct Guarded {
        var time = Instant(sinceBeginning: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var lastSleeper = 0
        var cancelled: Set<Int> = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
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

    /// Waits until that many sleep.
    public func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = self.guarded.withLock { guarded in
                if guarded.sleepers.count >= count { return true }
                guarded.waiters.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// Sleeps until the test has let enough time pass, or the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = self.guarded.withLock { guarded in
            guarded.lastSleeper += 1
            return guarded.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.begin(id, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = self.guarded.withLock { guarded in
                guarded.cancelled.insert(id)
                return guarded.sleepers.removeValue(forKey: id)
            }
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
            if guarded.cancelled.remove(id) != nil { return .isCancelled }
            if sleeper.deadline <= guarded.time { return .isDue }
            guarded.sleepers[id] = sleeper
            let count = guarded.sleepers.count
            let ready = guarded.waiters.filter { $0.count <= count }
            guarded.waiters.removeAll { $0.count <= count }
            return .sleeps(ready.map(\.continuation))
        }
        switch beginning {
        case .sleeps(let ready):
            for continuation in ready { continuation.resume() }
        case .isDue: sleeper.continuation.resume()
        case .isCancelled: sleeper.continuation.resume(throwing: CancellationError())
        }
    }
}

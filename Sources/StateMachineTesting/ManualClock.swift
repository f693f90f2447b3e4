import Foundation

/// A clock whose time passes when a test says so.
///
/// `@unchecked Sendable`: `lock` guards the time, the sleepers, and those who wait for sleepers.
public final class ManualClock: Clock, @unchecked Sendable {
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

    private let lock = NSLock()
    private var time = Instant(sinceBeginning: .zero)
    private var sleepers: [Int: Sleeper] = [:]
    private var lastSleeper = 0
    private var cancelled: Set<Int> = []
    private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// A clock at its beginning.
    public init() {}

    /// The present moment.
    public var now: Instant { self.lock.withLock { self.time } }

    /// No duration is too short.
    public var minimumResolution: Duration { .zero }

    /// Lets time pass; sleepers whose time has come wake, the earliest first.
    public func advance(by duration: Duration) {
        let woken = self.lock.withLock {
            self.time = self.time.advanced(by: duration)
            let due = self.sleepers.filter { $0.value.deadline <= self.time }
            for id in due.keys { self.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits until that many sleep.
    public func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = self.lock.withLock {
                if self.sleepers.count >= count { return true }
                self.waiters.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// Sleeps until the test has let enough time pass, or the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = self.lock.withLock {
            self.lastSleeper += 1
            return self.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.begin(id, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = self.lock.withLock {
                self.cancelled.insert(id)
                return self.sleepers.removeValue(forKey: id)
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
        let beginning = self.lock.withLock { () -> Beginning in
            if self.cancelled.remove(id) != nil { return .isCancelled }
            if sleeper.deadline <= self.time { return .isDue }
            self.sleepers[id] = sleeper
            let count = self.sleepers.count
            let ready = self.waiters.filter { $0.count <= count }
            self.waiters.removeAll { $0.count <= count }
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

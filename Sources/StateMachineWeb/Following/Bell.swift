import Synchronization

/// Wakes readers who wait for something new.
///
/// Guarded state, behind one lock: how often it has rung, and who waits. Nobody is resumed while it
/// is held.
final class Bell: Sendable {
    private struct Guarded {
        var count: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<News, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var isEnded = false

        mutating func takeWaiting() -> [CheckedContinuation<News, Never>] {
            defer { self.waiting = [:] }
            return Array(self.waiting.values)
        }
    }

    /// What a waiting reader gets.
    enum News: Sendable {
        case events
        /// Nothing has happened for a while.
        case beat
        /// There will be no more.
        case ended
    }

    private let guarded = Mutex(Guarded())

    /// How often it has rung; to be read before looking for something new.
    var count: UInt64 { self.guarded.withLock { $0.count } }

    /// Tells waiting readers that there is something new.
    func ring() {
        let waiting = self.guarded.withLock { guarded in
            guarded.count += 1
            return guarded.takeWaiting()
        }
        for continuation in waiting { continuation.resume(returning: .events) }
    }

    /// Has waiting readers show that they are still there.
    func beat() {
        for continuation in self.guarded.withLock({ $0.takeWaiting() }) {
            continuation.resume(returning: .beat)
        }
    }

    /// There will be nothing new.
    func finish() {
        let waiting = self.guarded.withLock { guarded in
            guarded.isEnded = true
            return guarded.takeWaiting()
        }
        for continuation in waiting { continuation.resume(returning: .ended) }
    }

    /// Waits until it has rung more often than that.
    func news(after count: UInt64) async -> News {
        let waiter = self.guarded.withLock { guarded in
            guarded.lastWaiter += 1
            return guarded.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let news: News? = self.guarded.withLock { guarded in
                    if guarded.isEnded || Task.isCancelled { return .ended }
                    if guarded.count > count { return .events }
                    guarded.waiting[waiter] = continuation
                    return nil
                }
                if let news { continuation.resume(returning: news) }
            }
        } onCancel: {
            let continuation = self.guarded.withLock { $0.waiting.removeValue(forKey: waiter) }
            continuation?.resume(returning: .ended)
        }
    }
}

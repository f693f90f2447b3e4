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
    func ring() { self.wake(.events) { $0.count += 1 } }

    /// Has waiting readers show that they are still there.
    func beat() { self.wake(.beat) { _ in } }

    /// There will be nothing new.
    func finish() { self.wake(.ended) { $0.isEnded = true } }

    private func wake(_ news: News, _ change: (inout Guarded) -> Void) {
        let waiting = self.guarded.withLock { guarded in
            change(&guarded)
            defer { guarded.waiting = [:] }
            return guarded.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: news) }
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

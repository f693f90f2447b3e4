import Synchronization

/// Wakes readers who wait for something new.
///
/// Guarded state, behind one lock: who listens, by number. Nobody is told while it is held.
final class Bell: Sendable {
    private typealias Listeners = [UInt64: AsyncStream<News>.Continuation]

    private struct Guarded {
        /// Nil once there will be nothing new.
        var listeners: Listeners? = [:]
        var last: UInt64 = 0
    }

    /// What a reader hears.
    enum News: Sendable {
        case events
        /// Nothing has happened for a while.
        case beat
    }

    private let guarded = Mutex(Guarded())

    /// Tells readers that there is something new.
    func ring() { self.tell(.events) }

    /// Has readers show that they are still there.
    func beat() { self.tell(.beat) }

    /// There will be nothing new.
    func finish() {
        let listeners = self.guarded.withLock { $0.listeners.take() }
        for listener in (listeners ?? [:]).values { listener.finish() }
    }

    private func tell(_ news: News) {
        let listeners = self.guarded.withLock { $0.listeners }
        for listener in (listeners ?? [:]).values { listener.yield(news) }
    }

    /// What is new from now on, for one task; whatever it hears, it looks for all that there is, so
    /// that more counts as one while it is busy.
    var news: AsyncStream<News> {
        AsyncStream(bufferingPolicy: .bufferingOldest(1)) { listener in
            let number = self.guarded.withLock { guarded in
                guarded.last += 1
                guarded.listeners?[guarded.last] = listener
                return guarded.listeners == nil ? nil : guarded.last
            }
            guard let number else { return listener.finish() }
            listener.onTermination = { [weak self] _ in
                // What goes is released after the lock.
                _ = self?.guarded.withLock { $0.listeners?.removeValue(forKey: number) }
            }
        }
    }
}

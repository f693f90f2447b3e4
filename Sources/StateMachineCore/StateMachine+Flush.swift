extension StateMachine {
    /// Waits, without a thread, until every context has passed what was committed before the call.
    ///
    /// It waits for as long as the slowest context takes, and so for ever for one that never runs
    /// what it is given: a stuck queue, or an adopted thread that nobody drains. One that has ended is
    /// not waited for. Where that is not certain use ``flush(atMost:)``.
    public func flush() async {
        await withCheckedContinuation { continuation in
            self.mark { continuation.resume() }
        }
    }

    /// As ``flush()``, but for no longer than `limit`, measured by the machine's clock.
    ///
    /// - Returns: whether every context has passed.
    public func flush(atMost limit: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            let flush = BoundedFlush(continuation)
            flush.ring(Alarm(after: limit, on: self.options.clock) { flush.end(hasPassed: false) })
            self.mark { flush.end(hasPassed: true) }
        }
    }

    /// Calls `passed`, once, when every context has passed what has been committed so far.
    private func mark(_ passed: @escaping @Sendable () -> Void) {
        let entry = LogEntry(.mark, passage: Passage { _ in passed() })
        let appended = self.holder.withLock { holder -> Appended in
            let before = holder.tail
            holder.append(entry)
            return holder.appended(since: before)
        }
        self.announce(appended)
    }
}

/// Which of the two came first: the last context or the alarm.
///
/// Guarded state, behind `waiting`: who waits, and the alarm, until either has come.
private final class BoundedFlush: Sendable {
    private struct Waiting: Sendable {
        var continuation: CheckedContinuation<Bool, Never>?
        var alarm: Alarm?
    }

    private let waiting: Lock<Waiting>

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.waiting = Lock(Waiting(continuation: continuation))
    }

    func ring(_ alarm: Alarm) {
        self.waiting.withLock { waiting in
            if waiting.continuation != nil { waiting.alarm = alarm }
        }
    }

    func end(hasPassed: Bool) {
        let ended = self.waiting.withLock { waiting in
            let ended = waiting
            waiting = Waiting()
            return ended
        }
        ended.alarm?.stop()
        ended.continuation?.resume(returning: hasPassed)
    }
}

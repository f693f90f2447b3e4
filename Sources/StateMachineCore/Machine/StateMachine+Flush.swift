extension StateMachine {
    /// Waits, without a thread, until every context has passed what was committed before the call.
    ///
    /// It waits for as long as the slowest context takes, and so for ever for one that never runs
    /// what it is given: a stuck queue, or an adopted thread that nobody drains. One that has ended is
    /// not waited for. Where that is not certain use ``flush(atMost:)``.
    ///
    /// It ends when the task is cancelled, too, whoever has passed by then.
    public func flush() async { _ = await self.flush(within: nil) }

    /// As ``flush()``, but for no longer than `limit`, measured by the machine's clock.
    ///
    /// - Returns: whether every context has passed.
    public func flush(atMost limit: Duration) async -> Bool { await self.flush(within: limit) }

    private func flush(within limit: Duration?) async -> Bool {
        let withdrawal = Withdrawal()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasPassed = Once<Bool>(continuation)
                withdrawal.has { hasPassed.give(false) }
                if let limit {
                    hasPassed.keep(
                        Alarm(after: limit, on: self.options.clock) { hasPassed.give(false) }
                    )
                }
                self.mark { hasPassed.give(true) }
            }
        } onCancel: {
            withdrawal.withdraw()
        }
    }

    /// Calls `passed`, once, when every context has passed what has been committed so far.
    private func mark(_ passed: @escaping @Sendable () -> Void) {
        let entry = LogEntry(.mark, deliveryCount: DeliveryCount { _ in passed() })
        let appended = self.holder.withLock { holder -> Appended in
            let before = holder.tail
            holder.append(entry)
            return holder.appended(since: before)
        }
        self.announce(appended)
    }
}

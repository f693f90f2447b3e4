extension StateMachine {
    /// Waits, without a thread, until every context has passed what was committed before the call.
    ///
    /// It waits as long as the slowest context takes; without a limit, for ever for a context that
    /// never runs its jobs: a stuck queue, or an adopted thread that nobody drains. One that has
    /// ended is not waited for. It also ends when the task is cancelled, whichever contexts have
    /// passed by then.
    ///
    /// - Parameter limit: how long at most, measured by the machine's clock; nil: without a limit.
    /// - Returns: whether every context has passed.
    @discardableResult
    public func flush(within limit: Duration? = nil) async -> Bool {
        let withdrawal = Withdrawal()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasPassed = Once<Bool>(continuation)
                withdrawal.has { hasPassed.give(false) }
                if let limit {
                    hasPassed.keep(
                        Alarm(after: limit, on: self.machine.options.clock) {
                            hasPassed.give(false)
                        }
                    )
                }
                self.machine.mark { hasPassed.give(true) }
            }
        } onCancel: {
            withdrawal.withdraw()
        }
    }
}

extension Machine {
    /// Calls `passed`, once, when every context has passed what has been committed so far.
    fileprivate func mark(_ passed: @escaping @Sendable () -> Void) {
        let entry = LogEntry(.mark, deliveryCount: DeliveryCount { _ in passed() })
        let appended = self.holder.withLock { holder -> Appended in
            let before = holder.tail
            holder.append(entry)
            return holder.appended(since: before)
        }
        self.announce(appended)
    }
}

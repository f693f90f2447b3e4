extension StateMachine {
    /// Runs `body` as a task while the machine is in one of some states: it starts when one of them
    /// is entered, the present one included, and is cancelled when that is left.
    ///
    /// A state that is entered anew, or with other values, is another stay, with a task of its own.
    /// The next task starts when the last has ended, so a body should return soon once cancelled;
    /// stays that come and go meanwhile get no task. Where it matters what the machine came from,
    /// see ``addObserver(on:of:starting:delivering:_:)``.
    ///
    /// - Parameters:
    ///   - names: the states.
    ///   - body: called with the state as it was entered; nothing happens when it returns by
    ///     itself.
    /// - Returns: its registration. Cancelling it, or the machine's end, cancels the task;
    ///   ``Registration/cancelAndWait()`` also waits for the task's end.
    @discardableResult
    public func during(
        _ names: State.Name...,
        body: @escaping @Sendable (State) async -> Void
    ) -> Registration {
        let task = StayTask(in: Set(names).texts) { await body(TypedValue<State>.state(of: $0)) }
        let registration = self.machine.follow({ task.heard($0) })
        return Registration(registration) { [weak task] ended in
            guard let task else { return ended() }
            task.end(then: ended)
        }
    }
}

/// Runs one task at a time, one for each stay in one of some states.
///
/// Guarded state: all of it, behind `guarded`.
private final class StayTask: Sendable {
    private struct Guarded {
        /// The last stay it heard of.
        var stay: UInt64?
        /// The state that the next task is for.
        var next: Value?
        /// The running task, perhaps for a stay that is over.
        var task: Task<Void, Never>?
        var hasEnded = false
        /// Called when no task runs any more.
        var waiting: [@Sendable () -> Void] = []
    }

    private let names: Set<String>
    private let body: @Sendable (Value) async -> Void
    private let guarded = Lock(Guarded())

    init(in names: Set<String>, _ body: @escaping @Sendable (Value) async -> Void) {
        self.names = names
        self.body = body
    }

    deinit { self.guarded.withLock { $0.task }?.cancel() }

    func heard(_ place: Place) {
        let isMeant = self.names.contains(place.value.name)
        let last = self.guarded.withLock { guarded -> Task<Void, Never>? in
            guard guarded.stay != place.stay, !guarded.hasEnded else { return nil }
            guarded.stay = place.stay
            guarded.next = isMeant ? place.value : nil
            return guarded.task
        }
        last?.cancel()
        self.beginNext()
    }

    private func beginNext() {
        self.guarded.withLock { guarded in
            guard guarded.task == nil, let value = guarded.next.take() else { return }
            guarded.task = Task { [weak self, body] in
                await body(value)
                self?.taskEnded()
            }
        }
    }

    private func taskEnded() {
        let waiting = self.guarded.withLock { guarded in
            guarded.task = nil
            return exchange(&guarded.waiting, with: [])
        }
        for ended in waiting { ended() }
        self.beginNext()
    }

    /// Cancels the running task and starts no more.
    ///
    /// `ended` is called once, when nothing runs.
    func end(then ended: @escaping @Sendable () -> Void) {
        let task = self.guarded.withLock { guarded in
            guarded.hasEnded = true
            guarded.next = nil
            if guarded.task != nil { guarded.waiting.append(ended) }
            return guarded.task
        }
        guard let task else { return ended() }
        task.cancel()
    }
}

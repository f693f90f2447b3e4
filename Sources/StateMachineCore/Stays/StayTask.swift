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
    ///   - name: a state, without its values.
    ///   - others: more of them.
    ///   - body: called with the state as it was entered; nothing happens when it returns by
    ///     itself.
    /// - Returns: its registration. Cancelling it, or the machine's end, cancels the task;
    ///   ``Registration/cancelAndWait()`` also waits for the task's end.
    @discardableResult
    public func during(
        _ name: State.Name,
        _ others: State.Name...,
        body: @escaping @Sendable (State) async -> Void
    ) -> Registration {
        let task = StayTask(in: Set([name] + others).texts) {
            await body(TypedValue<State>.state(of: $0))
        }
        let way = WayToStayTask(task)
        return self.machine.follow({ way.task.heard($0) }, stopping: { task.end(then: $0) })
    }
}

/// The way to a stay task; when it is released, the machine is gone, or the registration has ended.
private final class WayToStayTask: Sendable {
    let task: StayTask

    init(_ task: StayTask) { self.task = task }

    deinit { self.task.end {} }
}

/// Runs one task at a time, one for each stay in one of some states.
///
/// Guarded state: all of it, behind `guarded`.
private final class StayTask: Sendable {
    /// The one whose body the present task runs, or is a child of.
    @TaskLocal private static var current: StayTask?

    private struct Guarded {
        /// The last stay it heard of.
        var stay: UInt64?
        /// The state that the next task is for.
        var next: Value?
        /// The running task, perhaps for a stay that is over.
        var task: Task<Void, Never>?
        /// What to run; nil once no more is to be run.
        var body: (@Sendable (Value) async -> Void)?
    }

    private let names: Set<String>
    private let guarded: Lock<Guarded>

    init(in names: Set<String>, _ body: @escaping @Sendable (Value) async -> Void) {
        self.names = names
        self.guarded = Lock(Guarded(body: body))
    }

    func heard(_ place: Place) {
        let isMeant = self.names.contains(place.value.name)
        // The state that gets no task is released after the lock.
        let (last, _) = self.guarded.withLock { guarded -> (Task<Void, Never>?, Value?) in
            guard guarded.stay != place.stay, guarded.body != nil else { return (nil, nil) }
            guarded.stay = place.stay
            return (guarded.task, exchange(&guarded.next, with: isMeant ? place.value : nil))
        }
        last?.cancel()
        self.beginNext()
    }

    private func beginNext() {
        self.guarded.withLock { guarded in
            guard guarded.task == nil, let body = guarded.body, let value = guarded.next.take()
            else { return }
            guarded.task = Task {
                await Self.$current.withValue(self) { await body(value) }
                self.taskEnded()
            }
        }
    }

    private func taskEnded() {
        self.guarded.withLock { $0.task = nil }
        self.beginNext()
    }

    /// Cancels the running task and starts no more.
    ///
    /// `ended` is called once, when nothing runs; if the running task itself asks for its end, at once.
    func end(then ended: @escaping @Sendable () -> Void) {
        // What goes is released after the lock.
        let (last, _) = self.guarded.withLock { guarded in
            let next = guarded.next.take()
            return (guarded.task, (guarded.body.take(), next))
        }
        guard let last else { return ended() }
        last.cancel()
        guard Self.current !== self else { return ended() }
        // Not kept: it ends with the task that it waits for.
        Task {
            await last.value
            ended()
        }
    }
}

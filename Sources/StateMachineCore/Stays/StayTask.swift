extension StateMachine {
    /// Runs `body` as a task for as long as the machine is in one of some states: it is begun when one of them is
    /// entered, the present one included, and cancelled when that is left.
    ///
    /// A state that is entered anew, or with other values, is another stay, with a task of its own. The next one
    /// begins when the last has ended, so a body returns soon once it is cancelled; of what comes and goes
    /// meanwhile there is no task. Where it matters what the machine came from, see
    /// ``addObserver(on:of:starting:delivering:_:)``.
    ///
    /// - Parameters:
    ///   - names: the states.
    ///   - body: given the state as it was entered; nothing happens when it returns by itself.
    /// - Returns: its place. Cancelling it, or the machine's end, cancels the task;
    ///   ``Registration/cancelAndWait()`` waits for the task's end too.
    @discardableResult
    public func during(
        _ names: State.Name...,
        body: @escaping @Sendable (State) async -> Void
    ) -> Registration {
        let task = StayTask<State>(in: Set(names), body)
        let registration = self.addDelegate(
            task,
            on: ReaderContext(of: self),
            retaining: true,
            starting: .current
        )
        return Registration(registration) { [weak task] ended in
            guard let task else { return ended() }
            task.end(then: ended)
        }
    }
}

/// What is done in each stay in one of some states: one task at a time.
///
/// Guarded state: all of it, behind `guarded`.
private final class StayTask<State: MachineState>: StateDelegate {
    private struct Guarded {
        /// The stay that was heard of last.
        var stay: UInt64?
        /// What the next task is for.
        var next: State?
        /// The one that runs, perhaps for a stay that is over.
        var task: Task<Void, Never>?
        var hasEnded = false
        /// Told when no task runs any more.
        var waiting: [@Sendable () -> Void] = []
    }

    private let names: Set<State.Name>
    private let body: @Sendable (State) async -> Void
    private let guarded = Lock(Guarded())

    init(in names: Set<State.Name>, _ body: @escaping @Sendable (State) async -> Void) {
        self.names = names
        self.body = body
    }

    deinit { self.guarded.withLock { $0.task }?.cancel() }

    func stateChanged(_ transition: Transition<State>) { self.heard(transition.snapshot) }

    func transitionsMissed(_ count: Int, now: Snapshot<State>) { self.heard(now) }

    private func heard(_ snapshot: Snapshot<State>) {
        let isMeant = self.names.contains(snapshot.state.name)
        let last = self.guarded.withLock { guarded -> Task<Void, Never>? in
            guard guarded.stay != snapshot.stay, !guarded.hasEnded else { return nil }
            guarded.stay = snapshot.stay
            guarded.next = isMeant ? snapshot.state : nil
            return guarded.task
        }
        last?.cancel()
        self.beginNext()
    }

    private func beginNext() {
        self.guarded.withLock { guarded in
            guard guarded.task == nil, let state = guarded.next.take() else { return }
            guarded.task = Task { [weak self, body] in
                await body(state)
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

    /// Cancels what runs; nothing is begun any more.
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

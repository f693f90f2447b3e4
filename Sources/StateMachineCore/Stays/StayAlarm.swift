extension StateMachine {
    /// Enters another state when the machine has stayed in one of some states for `limit`.
    ///
    /// The time is the stay's: it starts again when the state is entered anew, or with other
    /// values; for the present state it starts now. It is measured with ``Options/clock``. Like an
    /// assignment it asks no voter, and an illegal successor is a programming error that ends the
    /// process; what cannot be committed is reported to ``Options/unassigned``, and not tried
    /// again. The transition's cause is "after" and the time.
    ///
    /// - Parameters:
    ///   - limit: how long.
    ///   - names: the states.
    ///   - next: pure; makes the state to enter from the one that is left.
    /// - Returns: its registration. Cancelling it, or the machine's end, stops the clock.
    @discardableResult
    public func after(
        _ limit: Duration,
        in names: State.Name...,
        become next: @escaping @Sendable (State) -> State
    ) -> Registration {
        let alarm = StayAlarm<State>(limit, in: Set(names), of: self, next)
        let registration = self.addDelegate(
            alarm,
            on: ReaderContext(of: self),
            retaining: true,
            starting: .current
        )
        return Registration(registration) { [weak alarm] ended in
            alarm?.end()
            ended()
        }
    }

    /// Enters the state if the stay still lasts; does not wait for a log.
    fileprivate func leave(stay: UInt64, after limit: Duration, for next: (State) -> State) {
        let snapshot = self.snapshot
        guard snapshot.stay == stay else { return }
        let new = next(snapshot.state)
        let move = Move(to: new, if: .stay(stay), cause: "after \(limit)")
        guard self.options.log != nil else {
            do {
                _ = try self.enter(move)
            } catch {
                self.alarmFailed(new, error)
            }
            return
        }
        self.enqueue(
            PendingProposal(
                move,
                asking: nil,
                completion: .answer { answer in
                    if case .failure(let error) = answer { self.alarmFailed(new, error) }
                }
            )
        )
    }

    private func alarmFailed(_ new: State, _ error: TransitionError<State>) {
        switch error.reason {
        case .conflict: break
        case .illegal, .denied, .stale, .wouldWait, .withdrawn, .notCommitted, .overloaded:
            self.trapOrReport(new, error)
        }
    }
}

/// Limits how long a stay in one of some states may last.
///
/// Guarded state: all of it, behind `guarded`.
private final class StayAlarm<State: MachineState>: StateDelegate {
    private struct Guarded {
        /// The last stay it heard of.
        var stay: UInt64?
        var alarm: Alarm?
        var hasEnded = false
    }

    private let limit: Duration
    private let names: Set<State.Name>
    private weak let machine: StateMachine<State>?
    private let clock: any Clock<Duration>
    private let next: @Sendable (State) -> State
    private let guarded = Lock(Guarded())

    init(
        _ limit: Duration,
        in names: Set<State.Name>,
        of machine: StateMachine<State>,
        _ next: @escaping @Sendable (State) -> State
    ) {
        self.limit = limit
        self.names = names
        self.machine = machine
        self.clock = machine.options.clock
        self.next = next
    }

    func stateChanged(_ transition: Transition<State>) { self.heard(transition.snapshot) }

    func transitionsMissed(_ count: Int, now: Snapshot<State>) { self.heard(now) }

    private func heard(_ snapshot: Snapshot<State>) {
        let isNew = self.guarded.withLock { guarded in
            defer { guarded.stay = snapshot.stay }
            return guarded.stay != snapshot.stay
        }
        guard isNew else { return }
        let alarm = self.names.contains(snapshot.state.name) ? self.alarm(of: snapshot.stay) : nil
        let last = self.guarded.withLock { guarded -> Alarm? in
            guarded.hasEnded ? alarm : exchange(&guarded.alarm, with: alarm)
        }
        last?.stop()
    }

    private func alarm(of stay: UInt64) -> Alarm {
        Alarm(after: self.limit, on: self.clock) { [weak machine, limit, next] in
            machine?.leave(stay: stay, after: limit, for: next)
        }
    }

    /// Stops the clock for good.
    func end() {
        let last = self.guarded.withLock { guarded in
            guarded.hasEnded = true
            return guarded.alarm.take()
        }
        last?.stop()
    }
}

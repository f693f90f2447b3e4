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
    ///   - name: a state, without its values.
    ///   - others: more of them.
    ///   - next: pure; makes the state to enter from the one that is left.
    /// - Returns: its registration. Cancelling it, or the machine's end, stops the clock: a state that
    ///   is being made by then is not entered, unless it waits for a write-ahead log: it is entered when the log
    ///   has committed it. ``Registration/cancelAndWait()`` waits for that, as long as the log takes.
    @discardableResult
    public func after(
        _ limit: Duration,
        in name: State.Name,
        _ others: State.Name...,
        become next: @escaping @Sendable (State) -> State
    ) -> Registration {
        let becoming: @Sendable (Value) -> Value = {
            TypedValue(next(TypedValue<State>.state(of: $0)))
        }
        let alarm = StayAlarm(limit, in: Set([name] + others).texts, of: self.machine, becoming)
        return self.machine.follow(
            { alarm.heard($0) },
            stopping: { [weak alarm] ended in
                if let alarm { alarm.end(then: ended) } else { ended() }
            }
        )
    }
}

extension Machine {
    /// Calls `heard` with where the machine is and then with where each change leads, on the machine's own queue.
    ///
    /// - Parameters:
    ///   - heard: called with each.
    ///   - stop: ends what that has started, and calls its argument once it has ended.
    /// - Returns: its registration.
    func follow(
        _ heard: @escaping @Sendable (Place) -> Void,
        stopping stop: @escaping @Sendable (_ stopped: @escaping @Sendable () -> Void) -> Void
    ) -> Registration {
        let member = CallingMember(
            for: .init(start: .current),
            .init(
                change: { _, entry in
                    heard(entry.change.place)
                    return true
                },
                missed: { heard($2) }
            )
        )
        _ = self.register(member, on: self.readers)
        return Registration(of: member, stopping: stop)
    }

    /// Enters the state if the stay still lasts and `isMeant` says so; does not wait for a log.
    ///
    /// `left` is called once, with whatever has become of it.
    fileprivate func leave(
        stay: UInt64,
        after limit: Duration,
        for next: (Value) -> Value,
        ifMeant isMeant: @escaping @Sendable () -> Bool,
        then left: @escaping @Sendable () -> Void
    ) {
        let place = self.place
        guard place.stay == stay else { return left() }
        let new = next(place.value)
        let move = Move(
            to: new,
            if: .holds { $0.stay == stay && isMeant() },
            cause: "after \(limit)"
        )
        self.begin(move, asking: nil) { answer in
            if case .failure(let refused) = answer, refused.reason != .conflict {
                self.trapOrReport(new, refused)
            }
            left()
        }
    }
}

/// Limits how long a stay in one of some states may last.
///
/// Guarded state: all of it, behind `guarded`.
private final class StayAlarm: Sendable {
    private struct Guarded {
        /// The last stay it heard of.
        var stay: UInt64?
        var alarm: Alarm?
        var hasEnded = false
        /// How many stays are being left, each by an alarm that has rung.
        var leavings = 0
        /// Called when none is.
        var waiting: [@Sendable () -> Void] = []
    }

    private let limit: Duration
    private let names: Set<String>
    private weak let machine: Machine?
    private let clock: any Clock<Duration>
    private let next: @Sendable (Value) -> Value
    private let guarded = Lock(Guarded())

    init(
        _ limit: Duration,
        in names: Set<String>,
        of machine: Machine,
        _ next: @escaping @Sendable (Value) -> Value
    ) {
        self.limit = limit
        self.names = names
        self.machine = machine
        self.clock = machine.options.clock
        self.next = next
    }

    func heard(_ place: Place) {
        let isNew = self.guarded.withLock { guarded in
            defer { guarded.stay = place.stay }
            return guarded.stay != place.stay
        }
        guard isNew else { return }
        let alarm = self.names.contains(place.value.name) ? self.alarm(of: place.stay) : nil
        let last = self.guarded.withLock { guarded -> Alarm? in
            guarded.hasEnded ? alarm : exchange(&guarded.alarm, with: alarm)
        }
        last?.stop()
    }

    private func alarm(of stay: UInt64) -> Alarm {
        Alarm(after: self.limit, on: self.clock) { [weak self] in self?.leave(stay) }
    }

    private func leave(_ stay: UInt64) {
        let isMeant = self.guarded.withLock { guarded in
            if !guarded.hasEnded { guarded.leavings += 1 }
            return !guarded.hasEnded
        }
        guard isMeant else { return }
        guard let machine else { return self.hasLeft() }
        machine.leave(
            stay: stay,
            after: self.limit,
            for: self.next,
            ifMeant: { self.guarded.withLock { !$0.hasEnded } },
            then: { self.hasLeft() }
        )
    }

    private func hasLeft() {
        let waiting = self.guarded.withLock { guarded in
            guarded.leavings -= 1
            return guarded.leavings == 0 ? exchange(&guarded.waiting, with: []) : []
        }
        for ended in waiting { ended() }
    }

    /// Stops the clock for good: a state that is being made is not entered, unless it waits for the log.
    ///
    /// `ended` is called once, when none is being made.
    func end(then ended: @escaping @Sendable () -> Void) {
        let (last, isQuiet) = self.guarded.withLock { guarded in
            guarded.hasEnded = true
            if guarded.leavings > 0 { guarded.waiting.append(ended) }
            return (guarded.alarm.take(), guarded.leavings == 0)
        }
        last?.stop()
        if isQuiet { ended() }
    }
}

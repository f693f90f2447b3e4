/// Where completions are called, those of a burst together.
package protocol CompletionPlace: AnyObject, Sendable {
    /// Runs `job` there after all that came before it: before this returns if the calling code is there.
    func run(_ job: @escaping @Sendable () -> Void)

    /// Calls `body`, and wakes the place once for all that has come meanwhile.
    func together(_ body: () -> Void)
}

/// Proposals that have to wait their turn.
extension StateMachine {
    /// Proposes what ``decideAtOnce(_:expecting:reenter:cause:by:under:)`` could not decide.
    ///
    /// For the stock state there is code of its own all the way through the gate, as there.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - isExpected: pure, and may be asked again.
    ///   - reenter: makes a transition even of a state equal to the current one.
    ///   - cause: why.
    ///   - by: who.
    ///   - isTimed: whether the time until voters are asked is part of their patience; needless where
    ///     there are none.
    ///   - place: where `completion` is called.
    ///   - completion: told the outcome; it may not block.
    @_specialize(where State == AppState)
    package func propose(
        _ new: State,
        expecting isExpected: @escaping @Sendable (Snapshot<State>) -> Bool,
        reenter: Bool,
        cause: String?,
        by: Peer?,
        isTimed: Bool,
        in place: any CompletionPlace,
        completion:
            @escaping @Sendable (Result<Acceptance, TransitionError<State>>) -> Void
    ) {
        self.lineUp(
            new,
            expecting: isExpected,
            reenter: reenter,
            cause: cause,
            by: by,
            isTimed: isTimed,
            in: place,
            completion: completion
        )
    }

    /// Apart from what chooses the code for the state's type; see `outcome`.
    @inline(never)
    private func lineUp(
        _ new: State,
        expecting isExpected: @escaping @Sendable (Snapshot<State>) -> Bool,
        reenter: Bool,
        cause: String?,
        by: Peer?,
        isTimed: Bool,
        in place: any CompletionPlace,
        completion:
            @escaping @Sendable (Result<Acceptance, TransitionError<State>>) -> Void
    ) {
        self.enqueue(
            Gate.Pending(
                new,
                isExpected: isExpected,
                reenter: reenter,
                cause: cause,
                by: by,
                question: Question(),
                waited: isTimed ? stopwatch(on: self.options.clock) : nil,
                place: place,
                completion: completion
            )
        )
    }

    /// - Parameters:
    ///   - pending: what waits its turn.
    ///   - isLimited: whether it is refused where there is no room; its completion is told that too.
    func enqueue(_ pending: Gate<State>.Pending, isLimited: Bool = true) {
        let entrance = self.holder.withLock { holder -> Entrance in
            let waiting = holder.gate.pending.count + holder.gate.assignments.count
            guard !isLimited || waiting < self.options.proposalLimit else {
                return .full(holder.snapshot)
            }
            if pending.question == nil {
                holder.gate.assignments.append(pending)
                // Its thread waits, and may be the one that would release.
                holder.gate.isHeld = false
            } else {
                holder.gate.pending.append(pending)
            }
            return holder.gate.isAwaitingMore ? .left : .entered
        }
        switch entrance {
        case .entered: self.pump()
        case .left: break
        case .full(let current):
            let answer = Gate<State>.Answer.failure(.overloaded(current: current))
            self.tell([Gate.Judged(pending: pending, fate: .answered(answer))])
        }
    }

    private enum Entrance {
        case entered
        /// Until more has come.
        case left
        case full(Snapshot<State>)
    }
}

/// Performs what the gate decides.
extension StateMachine {
    /// An action of the gate, and what was appended for it under the lock.
    @usableFromInline
    struct Step: Sendable {
        @usableFromInline let action: Gate<State>.Action
        @usableFromInline let appended: Appended?

        @inlinable
        init(_ action: Gate<State>.Action, appended: Appended? = nil) {
            self.action = action
            self.appended = appended
        }
    }

    /// Enqueues a proposal to be decided at its turn.
    ///
    /// - Parameters:
    ///   - pending: the proposal.
    ///   - isLimited: whether it is refused if there is no room; its completion is told that too.
    @usableFromInline
    func enqueue(_ pending: PendingProposal<State>, isLimited: Bool = true) {
        self.code.enqueue(self, pending, isLimited)
    }

    /// The same, specialized for the type known at the call site.
    @inlinable
    func enqueueHere(_ pending: PendingProposal<State>, isLimited: Bool) {
        switch self.holder.withLock({ $0.gate.proposed(pending, isLimited: isLimited) }) {
        case .entered: self.pump()
        case .left: break
        case .refused:
            self.tell(pending, .failure(TransitionError(.overloaded, current: self.snapshot)))
        }
    }

    /// Answers the proposal with ``Refusal/withdrawn``, unless it is decided.
    ///
    /// The proposals behind it move up. Called from anywhere, under no lock.
    func withdraw(_ pending: PendingProposal<State>) {
        let (withdrawal, current) = self.holder.withLock { holder in
            (holder.gate.withdrawn(pending), holder.snapshot)
        }
        switch withdrawal {
        case .left:
            self.tell(pending, .failure(TransitionError(.withdrawn, current: current)))
            self.pump()
        case .isAsked(let ballot): ballot.withdraw()
        case .isEvaluated, .tooLate: break
        }
    }

    /// Lets proposals gather from now on until ``releaseGroups()``, so that a burst is committed
    /// together and not one by one.
    ///
    /// For callers that have more to propose at once, and never wait before they release. A group
    /// that is big enough does not wait, nor does one with an assignment, whose thread waits for
    /// it.
    ///
    /// - Returns: whether there are voters that might be asked about a proposal.
    package func holdGroups() -> Bool { self.code.hold(self) }

    /// The same, specialized for the type known at the call site.
    @inlinable
    func holdGroupsHere() -> Bool {
        self.holder.withLock { holder in
            holder.gate.held()
            return !holder.gate.voters.isEmpty
        }
    }

    /// Gives what gathered to the log; without ``holdGroups()`` it does nothing.
    package func releaseGroups() { self.code.release(self) }

    /// The same, specialized for the type known at the call site.
    @inlinable
    func releaseGroupsHere() { self.pump(from: self.after { $0.released(at: $1) }) }

    /// Moves the gate on until nothing is left to do, unless another thread is doing so already.
    @inlinable
    func pump() { self.pump(from: self.after { $0.pumped(at: $1) }) }

    /// Tells the gate about an event, and does the part of its answer that needs the lock.
    ///
    /// The question that this closes is released after the lock, with the states that it was about.
    @inlinable
    func after(
        _ event: (inout Gate<State>, Snapshot<State>) -> Gate<State>.Action?
    ) -> Step? {
        let (step, _) = self.holder.withLock { holder in
            let ballot = holder.gate.ballot
            let machine = holder.snapshot
            return (event(&holder.gate, machine).map { holder.take($0) }, ballot)
        }
        return step
    }

    /// Pumps from the first step, for a caller that has begun to pump.
    @inlinable
    func pump(from first: Step?) {
        var step = first
        while let current = step {
            switch current.action {
            case .evaluateAll(let run, let base):
                let evaluated = self.evaluate(run, from: base)
                step = self.after { $0.evaluated(evaluated, at: $1) }
            case .commit(let group):
                self.options.log?.commit(group) { failure in
                    self.holder.withLock { $0.gate.committed(failure: failure) }
                    self.pump()
                }
                step = self.after { $0.performed(at: $1) }
            case .tell(let evaluated):
                self.tell(evaluated, of: current.appended)
                step = self.after { $0.performed(at: $1) }
            case .asking(let asking): step = self.perform(asking, of: current.appended)
            case .recasting(let recasting): step = self.perform(recasting)
            }
        }
    }

    // MARK: - Evaluating

    /// Evaluates each proposal against the state as it will be after those before it; like all
    /// evaluating never under the lock, since it runs pure code of the state and the proposer.
    @inlinable
    func evaluate(
        _ run: [PendingProposal<State>],
        from base: Snapshot<State>
    ) -> [EvaluatedProposal<State>] {
        var base = base
        return run.map { pending in
            let fate: EvaluatedProposal<State>.Fate
            do throws(TransitionError<State>) {
                let new = try pending.move.state(
                    from: base,
                    announcingEqual: self.options.announcesEqual
                )
                fate = self.fate(of: pending, into: new, from: base)
            } catch {
                fate = .answered(.failure(error))
            }
            if case .entering(let entry) = fate { base = entry.snapshot }
            return EvaluatedProposal(pending, fate)
        }
    }

    /// What becomes of a proposal that asks nobody; nothing changes if `new` is nil.
    @inlinable
    func fate(
        of pending: PendingProposal<State>,
        into new: State?,
        from base: Snapshot<State>
    ) -> EvaluatedProposal<State>.Fate {
        guard let new else { return .answered(.success(.unchanged(base))) }
        if let denials = pending.questionToPut?.denialsWithoutVoters {
            return .answered(.failure(TransitionError(.denied(by: denials), current: base)))
        }
        return .entering(self.entry(of: pending.move, from: base, to: new))
    }

    // MARK: - Telling

    @inlinable
    func tell(_ evaluated: [EvaluatedProposal<State>], of appended: Appended?) {
        // Delegates on this very thread are told before any completion, and may wait for others.
        let isHeardHere = appended?.lanes.contains { !$0.hasTurns } ?? false
        guard !isHeardHere, let place = evaluated.first?.pending.place else {
            if let appended { self.announce(appended) }
            self.tell(evaluated[...])
            return
        }
        place.together {
            self.tell(evaluated[...])
            if let appended { self.announce(appended) }
        }
    }

    @usableFromInline
    func tell(_ pending: PendingProposal<State>, _ answer: Gate<State>.Answer) {
        self.tell([EvaluatedProposal(pending, .answered(answer))])
    }

    /// Completes each; successive ones with the same place are completed there together.
    @inlinable
    func tell(_ evaluated: ArraySlice<EvaluatedProposal<State>>) {
        var rest = evaluated
        while let first = rest.first {
            guard let place = first.pending.place else {
                first.complete()
                rest.removeFirst()
                continue
            }
            let end = rest.firstIndex { $0.pending.place !== place } ?? rest.endIndex
            let run = rest[..<end]
            rest = rest[end...]
            // By index: an iterator copies each.
            place.run { for index in run.indices { run[index].complete() } }
        }
    }
}

extension StateMachine.Holder {
    /// Does the part of an action that needs the lock: enters states, puts a question.
    @inlinable
    mutating func take(_ action: Gate<State>.Action) -> StateMachine<State>.Step {
        switch action {
        case .asking(.put(let ballot, _, _)):
            return .init(action, appended: self.put(ballot))
        case .recasting(.replace(_, _, let state)):
            self.replace(with: state)
            return .init(action)
        case .evaluateAll, .commit, .asking, .recasting: return .init(action)
        case .tell(let evaluated):
            let before = self.tail
            var isEntering = false
            for index in evaluated.indices {
                guard case .entering(let entry) = evaluated[index].fate else { continue }
                isEntering = true
                _ = self.enter(entry.new, as: entry, at: entry.at, stay: entry.stay)
            }
            let appended = isEntering ? self.appended(since: before) : nil
            return .init(action, appended: appended)
        }
    }
}

import NIOCore
import StateMachineCore
import StateMachineProtocol

extension Connection {
    /// The state that a `set` asks for, if the request is right.
    func state(for call: SetCall, lineLength: Int) throws(WireError) -> EncodedState {
        let machine = self.server.machine
        guard !self.server.isClosing else { throw .shuttingDown }
        let state = try machine.state(call.state, data: call.data)
        try self.checkLength(of: state, lineLength: lineLength)
        if let pattern = call.ifState { try machine.schema.check(pattern) }
        return state
    }

    /// Proposes the state; the reply comes when it is decided, which may be at once.
    ///
    /// Without a call nothing is asked for but the state; `cause` is the call's own if there is one.
    func set(_ state: EncodedState, _ call: SetCall?, cause: String?, id: RequestID?) {
        let machine = self.server.machine
        self.hasSet = true
        self.server.turns.setCame(from: self.user)
        if let outcome = machine.decide(state, call, cause: cause, by: self.peer) {
            self.answer(outcome, to: call, of: state, id: id)
        } else {
            machine.propose(state, call, cause: cause, id: id, of: self)
        }
    }

    /// A set is about to be proposed.
    func list(_ pending: PendingSet) {
        self.sets.append(pending)
        if pending.isOrdered { self.orderedSets += 1 }
        self.server.undecidedSets += 1
    }

    /// Has the sets of a client that is gone not happen if they wait for others to be voted on.
    ///
    /// Not before the turn of the loop ends, until when those that it has brought gather unseen.
    func withdrawWaitingSets() {
        let waiting = self.sets.filter { !$0.isOrdered }
        guard !waiting.isEmpty else { return }
        self.channel.eventLoop.assumeIsolated().execute {
            for set in waiting where set.isCounted && set.withdrawIfWaiting() {
                set.isCounted = false
                self.server.undecidedSets -= 1
            }
            let left = self.sets.filter { $0.isOrdered || $0.isCounted }
            guard left.count < self.sets.count else { return }
            self.sets = CircularBuffer(left)
            if self.isGone, !self.lifecycle.isClosed { self.turn.want() }
        }
    }

    /// Answers a set that had to wait.
    func decided(_ pending: PendingSet, _ outcome: SetOutcome) {
        if pending.isCounted { self.server.undecidedSets -= 1 }
        pending.isCounted = false
        // Already answered, if the daemon is going down or the client has gone.
        let isFirst = self.sets.first === pending
        guard isFirst || self.sets.contains(where: { $0 === pending }) else { return }
        if case .refused(.conflict, _) = outcome, pending.isWithdrawn {
            // Answered as such when all others have been.
            return
        }
        if isFirst {
            self.sets.removeFirst(1)
        } else {
            self.sets.removeAll { $0 === pending }
        }
        if pending.isOrdered { self.orderedSets -= 1 }
        if self.isGone {
            self.turn.want()
        } else {
            self.server.answered(self)
        }
        self.answer(outcome, to: pending.call, of: pending.state, id: pending.id)
    }

    private func answer(
        _ outcome: SetOutcome,
        to call: SetCall?,
        of state: EncodedState,
        id: RequestID?
    ) {
        // The ring is brought up to it before the answer is written, once for all that are written then.
        switch outcome {
        case .committed(let snapshot):
            self.accept(id, isChanged: true, snapshot)
        case .unchanged(let snapshot):
            self.accept(id, isChanged: false, snapshot)
        case .refused(let refusal, let current):
            self.refuse(call, of: state, id: id, refusal, current)
        }
        self.server.scheduleFlush()
    }

    /// Escaping makes a byte six at most, so only a long line can make a state that is too long.
    private func checkLength(of state: EncodedState, lineLength: Int) throws(WireError) {
        guard lineLength > RequestLimits.stateBytes / 6 else { return }
        let length = state.fragment.count
        guard length > RequestLimits.stateBytes else { return }
        throw WireError(
            .tooLong,
            "the encoded state has \(length) bytes; it may have \(RequestLimits.stateBytes)"
        )
    }

    private func accept(_ id: RequestID?, isChanged: Bool, _ snapshot: EncodedSnapshot) {
        ServerLine.writeReply(
            to: &self.server.line,
            id: id,
            report: self.server.report(of: snapshot),
            own: { $0.bool("changed", isChanged) }
        )
        self.outbox.replyWithLine(after: snapshot.seq)
    }

    private func refuse(
        _ call: SetCall?,
        of state: EncodedState,
        id: RequestID?,
        _ refusal: SetRefusal,
        _ current: EncodedSnapshot
    ) {
        let name = current.state.name
        switch refusal {
        case .conflict:
            let expected =
                if let seq = call?.ifSeq, seq != current.seq {
                    "seq \(seq)"
                } else {
                    [call?.ifState?.written ?? .null].listed
                }
            let message = "expected \(expected), but it is \(name) at seq \(current.seq)"
            self.refuse(id, .conflict, message, current)
        case .illegal(let allowed):
            let message =
                "\(state.name) may not follow \(name); allowed: \(allowed.joined(separator: ", "))"
            self.refuse(id, .illegalTransition, message, current) { writer in
                writer.json("allowed", .array(allowed.map { .string($0) }))
            }
        case .denied(let deciding):
            let blocking = self.server.voters.compactMap { $1.hold($0) }
            let denials = Denials(deciding, and: blocking, of: state)
            self.refuse(id, .denied, denials.message, current) { writer in
                denials.write(to: &writer, ownPeer: self.server.ownPeer)
            }
        case .stale:
            let message = "the program set the state while voters were asked"
            self.refuse(id, .conflict, message, current)
        case .notCommitted(let why):
            self.refuse(id, .internal, "could not be made durable: \(why)", current)
        case .overloaded:
            self.refuse(id, .limit, "too many sets wait their turn", current)
        case .wouldWait:
            self.refuse(id, .internal, "could not be decided at once", current)
        case .withdrawn:
            self.refuse(id, .internal, "was withdrawn", current)
        }
    }

    private func refuse(
        _ id: RequestID?,
        _ code: ErrorCode,
        _ message: String,
        _ current: EncodedSnapshot,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.server.counters.refusals.add()
        self.outbox.reply(
            ServerLine.refusal(
                id: id,
                WireError(code, message),
                report: self.server.report(of: current),
                own: own
            ),
            after: current.seq
        )
    }
}

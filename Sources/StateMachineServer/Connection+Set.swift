import NIOCore
import StateMachineCore
import StateMachineWire

extension Connection {
    /// Proposes the state; the reply comes when it is decided, which may be at once.
    func set(_ call: SetCall, id: RequestID?, lineLength: Int) throws(WireError) {
        let server = self.server
        let state = try server.coding.state(call.state, data: call.data)
        try self.checkLength(of: state, lineLength: lineLength)
        if let pattern = call.ifState { try server.coding.schema.check(pattern) }
        let pending = PendingSet(id: id, call: call)
        self.sets.append(pending)
        let connection = NIOLoopBound(self, eventLoop: self.channel.eventLoop)
        let loop = self.channel.eventLoop
        server.machine.propose(
            state,
            expecting: { snapshot in
                !pending.isWithdrawn && (call.ifSeq.map { $0 == snapshot.seq } ?? true)
                    && (call.ifState.map { server.coding.matches($0, snapshot.state) } ?? true)
            },
            reenter: call.reenter,
            cause: call.cause,
            by: self.peer,
            completion: { outcome in
                // Decided at once, this is still the request's turn; decided later, it is whoever's
                // thread brought the last vote.
                if loop.inEventLoop {
                    connection.value.decided(pending, state, outcome)
                } else {
                    loop.execute { connection.value.decided(pending, state, outcome) }
                }
            }
        )
    }

    private func decided(
        _ pending: PendingSet,
        _ state: State,
        _ outcome: Result<StateMachine<State>.Acceptance, TransitionError<State>>
    ) {
        // Already answered, if the daemon is going down or the client has gone.
        guard let index = self.sets.firstIndex(where: { $0 === pending }) else { return }
        self.sets.remove(at: index)
        self.server.catchUp()
        switch outcome {
        case .success(.committed(let transition)):
            self.accept(pending.id, isChanged: true, self.server.report(of: transition))
        case .success(.unchanged(let snapshot)):
            self.accept(pending.id, isChanged: false, self.server.report(of: snapshot))
        case .failure(let error):
            self.refuse(pending, state, error)
        }
        self.server.scheduleFlush()
    }

    /// Escaping makes a byte six at most, so only a long line can make a state that is too long.
    private func checkLength(of state: State, lineLength: Int) throws(WireError) {
        guard lineLength > RequestLimits.stateBytes / 6 else { return }
        let length = self.server.coding.fragment(of: state).count
        guard length > RequestLimits.stateBytes else { return }
        throw WireError(
            .tooLong,
            "the encoded state has \(length) bytes; it may have \(RequestLimits.stateBytes)"
        )
    }

    private func accept(_ id: RequestID?, isChanged: Bool, _ report: ServerLine.Report) {
        self.reply(ServerLine.reply(id: id, report: report, own: { $0.bool("changed", isChanged) }))
    }

    private func refuse(
        _ pending: PendingSet,
        _ state: State,
        _ error: TransitionError<State>
    ) {
        let call = pending.call
        switch error {
        case .conflict(let current):
            let expected =
                if let seq = call.ifSeq, seq != current.seq {
                    "seq \(seq)"
                } else {
                    [call.ifState?.written ?? .null].listed
                }
            let message =
                "expected \(expected), but it is \(current.state.name.rawValue) at seq \(current.seq)"
            self.refuse(pending, .conflict, message, current)
        case .illegal(let current, let allowed):
            let names = State.Name.allCases.filter(allowed.contains).map(\.rawValue)
            let message =
                "\(call.state) may not follow \(current.state.name.rawValue); "
                + "allowed: \(names.joined(separator: ", "))"
            self.refuse(pending, .illegalTransition, message, current) { writer in
                writer.json("allowed", .array(names.map { .string($0) }))
            }
        case .denied(let deciding, let current):
            let denials = self.objections(to: state, deciding: deciding)
            let reasons = denials.map { $0.why.isEmpty ? $0.label : "\($0.label) (\($0.why))" }
            let message = "denied by \(reasons.joined(separator: ", "))"
            self.refuse(pending, .denied, message, current) { writer in
                writer.json("by", .array(denials.map { $0.json(ownPeer: self.server.ownPeer) }))
            }
        case .stale(let current):
            let message = "the program set the state while voters were asked"
            self.refuse(pending, .conflict, message, current)
        case .notCommitted(let why, let current):
            self.refuse(pending, .internal, "could not be made durable: \(why)", current)
        case .overloaded(let current):
            self.refuse(pending, .limit, "too many sets wait their turn", current)
        case .wouldWait(let current):
            self.refuse(pending, .internal, "could not be decided at once", current)
        }
    }

    private func refuse(
        _ pending: PendingSet,
        _ code: ErrorCode,
        _ message: String,
        _ current: Snapshot<State>,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.server.counters.refusals.add()
        self.reply(
            ServerLine.refusal(
                id: pending.id,
                WireError(code, message),
                report: self.server.report(of: current),
                own: own
            )
        )
    }
}

import NIOCore
import StateMachineCore
import StateMachineWire

extension Connection {
    /// Answers one request line.
    func handle(_ line: [UInt8]) {
        do {
            guard let request = try Request.parse(line) else { return }
            do {
                try self.perform(request, lineLength: line.count)
            } catch {
                self.reply(ServerLine.refusal(id: request.id, error))
            }
        } catch {
            self.reply(ServerLine.refusal(id: error.id, error.error))
        }
    }

    private func perform(_ request: Request, lineLength: Int) throws(WireError) {
        let operation = request.operation
        guard self.door.operations.contains(operation) else {
            throw WireError(
                .forbidden,
                "\(operation.rawValue) is not for \(self.door.fileName); "
                    + "use \(Door.control.fileName)"
            )
        }
        self.server.catchUp()
        switch request.call {
        case .get:
            self.reply(ServerLine.reply(id: request.id, report: self.server.report))
        case .set(let call):
            try self.set(call, id: request.id, lineLength: lineLength)
        case .watch(let call):
            try self.watch(call, id: request.id)
        case .unwatch:
            try self.unwatch(id: request.id)
        case .wait(let call):
            try self.wait(call, id: request.id)
        case .ping:
            let seq = self.server.report.seq
            self.reply(ServerLine.reply(id: request.id, own: { $0.number("seq", seq) }))
        case .describe:
            self.reply(self.server.description(for: self.door, id: request.id))
        case .help:
            let text = self.door.help
            self.reply(ServerLine.reply(id: request.id, own: { $0.string("help", text) }))
        }
    }

    // MARK: - set

    private func set(_ call: SetCall, id: RequestID?, lineLength: Int) throws(WireError) {
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
                (call.ifSeq.map { $0 == snapshot.seq } ?? true)
                    && (call.ifState.map { server.coding.matches($0, snapshot.state) } ?? true)
            },
            reenter: call.reenter,
            cause: call.cause,
            by: self.peer,
            completion: { outcome in
                // Decided at once, this is still the request's turn; decided later, it is whoever's
                // thread brought the last vote.
                if loop.inEventLoop {
                    connection.value.decided(pending, outcome)
                } else {
                    loop.execute { connection.value.decided(pending, outcome) }
                }
            }
        )
    }

    private func decided(
        _ pending: PendingSet,
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
            self.refuse(pending, error)
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

    private func refuse(_ pending: PendingSet, _ error: TransitionError<State>) {
        let call = pending.call
        switch error {
        case .conflict(let current):
            let expected = call.ifSeq.map { "seq \($0)" } ?? "ifState"
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
        case .denied(let denials, let current):
            let reasons = denials.map { "\($0.label) (\($0.why))" }
            let message = "denied by \(reasons.joined(separator: ", "))"
            self.refuse(pending, .denied, message, current) { writer in
                writer.json("by", .array(denials.map(\.json)))
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
        self.reply(
            ServerLine.refusal(
                id: pending.id,
                WireError(code, message),
                report: self.server.report(of: current),
                own: own
            )
        )
    }

    // MARK: - watch

    private func watch(_ call: WatchCall, id: RequestID?) throws(WireError) {
        for pattern in call.only ?? [] { try self.server.coding.schema.check(pattern) }
        let watches = self.watches.filter { !$0.isEnding }
        guard !watches.contains(where: { $0.id == id }) else {
            throw WireError(
                .badRequest,
                id == nil
                    ? "there is a watch without id on this connection; give this one an id"
                    : "there is a watch of this id on this connection"
            )
        }
        let limit = self.server.limits.watchesPerConnection
        guard watches.count < limit else {
            throw WireError(.limit, "this connection has \(limit) watches, as many as it may")
        }
        let resume = call.since.map { self.server.resumePoint($0) }
        self.begin(Watch(call, id: id, from: resume, head: self.server.report.seq))
    }

    private func unwatch(id: RequestID?) throws(WireError) {
        if let watch = self.watches.first(where: { $0.id == id && !$0.isEnding }) {
            self.end(watch)
        } else if let index = self.waits.firstIndex(where: { $0.id == id }) {
            self.waits.remove(at: index).timeout?.cancel()
        } else {
            throw WireError(
                .notFound,
                id == nil
                    ? "there is no watch without id on this connection"
                    : "there is no watch and no wait of this id on this connection"
            )
        }
        self.reply(ServerLine.reply(id: id))
    }

    // MARK: - wait

    private func wait(_ call: WaitCall, id: RequestID?) throws(WireError) {
        for pattern in call.until + call.fail { try self.server.coding.schema.check(pattern) }
        let limit = self.server.limits.waitsPerConnection
        guard self.waits.count < limit else {
            throw WireError(.limit, "this connection has \(limit) waits, as many as it may")
        }
        let head = self.server.ring.head
        var resync: ServerLine.Resync?
        var passed = head
        switch call.since.map({ self.server.resumePoint($0) }) {
        case nil: break
        case .replay(let seq): passed = seq
        case .resync(let reason, _): resync = reason
        }
        let wait = PendingWait(id: id, call: call, resync: resync)
        while passed < head {
            passed += 1
            let transition = self.server.ring[passed].transition
            let verdict = wait.verdict { self.server.coding.matches($0, transition.new) }
            if let verdict {
                self.answer(wait, verdict, self.server.report(of: transition))
                return
            }
        }
        if let verdict = wait.verdict(self.server.isCurrent) {
            self.answer(wait, verdict, self.server.report)
            return
        }
        if call.timeoutMs == 0 {
            self.timeOut(wait)
            return
        }
        guard !self.isMute else { return }
        self.waits.append(wait)
        if let timeoutMs = call.timeoutMs {
            // A hundred years, so that the nanoseconds fit.
            let milliseconds = Int64(min(timeoutMs, 3_155_760_000_000))
            wait.timeout = self.channel.eventLoop.assumeIsolated().scheduleTask(
                in: .milliseconds(milliseconds)
            ) { [weak self] in
                guard let self, self.remove(wait) else { return }
                self.server.catchUp()
                self.timeOut(wait)
                self.flush()
            }
        }
    }

    /// Ends the waits that a change decides.
    func judgeWaits(_ state: State, _ report: ServerLine.Report) {
        for wait in self.waits {
            let verdict = wait.verdict { self.server.coding.matches($0, state) }
            guard let verdict, self.remove(wait) else { continue }
            wait.timeout?.cancel()
            self.answer(wait, verdict, report)
        }
    }

    private func remove(_ wait: PendingWait) -> Bool {
        guard let index = self.waits.firstIndex(where: { $0 === wait }) else { return false }
        self.waits.remove(at: index)
        return true
    }

    private func answer(
        _ wait: PendingWait,
        _ verdict: PendingWait.Verdict,
        _ report: ServerLine.Report
    ) {
        switch verdict {
        case .reached(let pattern):
            self.append(
                ServerLine.reply(
                    id: wait.id,
                    report: report,
                    own: { $0.json("matched", pattern.written) },
                    rest: { $0.resync(wait.resync) }
                ),
                replies: 0
            )
        case .failed(let pattern):
            let message = "reached \(pattern.state), which counts as failure"
            self.refuse(wait, WireError(.failedState, message), report) { writer in
                writer.json("matched", pattern.written)
            }
        }
    }

    private func timeOut(_ wait: PendingWait) {
        let report = self.server.report
        let message =
            "still \(self.server.stateName) after \(wait.call.timeoutMs ?? 0) ms; "
            + "it has been since \(report.at.rfc3339)"
        self.refuse(wait, WireError(.timeout, message))
    }

    /// Answers a wait with no; it is no reply in flight.
    func refuse(
        _ wait: PendingWait,
        _ error: WireError,
        _ report: ServerLine.Report? = nil,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.append(
            ServerLine.refusal(
                id: wait.id,
                error,
                report: report ?? self.server.report,
                own: own,
                rest: { $0.resync(wait.resync) }
            ),
            replies: 0
        )
    }
}

extension Denial {
    /// As it stands in `denied.by`.
    fileprivate var json: JSONValue {
        var members = [JSONMember("delegate", .string(self.label))]
        if let peer = self.peer {
            members.append(JSONMember("uid", .number("\(peer.uid)")))
            members.append(JSONMember("pid", .number("\(peer.pid)")))
        }
        members.append(JSONMember("why", .string(self.why)))
        return .object(members)
    }
}

extension LineWriter {
    fileprivate mutating func resync(_ resync: ServerLine.Resync?) {
        if let resync { self.string("resync", resync.rawValue) }
    }
}

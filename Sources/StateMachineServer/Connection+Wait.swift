import NIOCore
import StateMachineCore
import StateMachineWire

extension Connection {
    /// Answers when a state matches, which may be one that has passed or the current one.
    func wait(_ call: WaitCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        for pattern in call.until + call.fail { try self.server.machine.schema.check(pattern) }
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
        let wait = PendingWait(id: id, call: call, resync: resync, request: line)
        while passed < head {
            passed += 1
            let verdict = wait.verdict { self.server.isWanted(passed, [$0]) }
            if let verdict {
                let entered = self.server.ring[passed].entered
                self.answer(wait, verdict, self.server.report(of: entered))
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
            wait.timeout = self.channel.eventLoop.assumeIsolated().scheduleTask(
                in: .bounded(milliseconds: timeoutMs)
            ) { [weak self] in
                guard let self, self.remove(wait) else { return }
                self.server.catchUp()
                self.timeOut(wait)
                self.flush()
            }
        }
    }

    /// Ends the waits that a change decides.
    func judgeWaits(_ report: ServerLine.Report, _ state: EncodedState) {
        for wait in self.waits {
            guard let verdict = wait.verdict(state.matches), self.remove(wait) else { continue }
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
                replies: 1
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
            "still \(self.server.stateText) after \(wait.call.timeoutMs ?? 0) ms; "
            + "it has been since \(report.at.rfc3339)"
        self.refuse(wait, WireError(.timeout, message))
    }

    /// Answers a wait with no: what was pending and no reply in flight is one from now on.
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
            replies: 1
        )
    }
}

extension LineWriter {
    fileprivate mutating func resync(_ resync: ServerLine.Resync?) {
        if let resync { self.string("resync", resync.rawValue) }
    }
}

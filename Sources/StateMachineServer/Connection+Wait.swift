import NIOCore
import StateMachineCore
import StateMachineWire

extension Connection {
    /// Answers when a state matches, which may be one that has passed or the current one.
    func wait(_ call: WaitCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        for pattern in call.until + call.fail { try self.server.machine.schema.check(pattern) }
        try self.checkRoom("waits", self.waits.count, of: self.server.limits.waitsPerConnection)
        let head = self.server.ring.head
        var resync: ServerLine.Resync?
        var passed = head
        switch call.since.map({ self.server.resumePoint($0) }) {
        case nil: break
        case .replay(let seq): passed = seq
        case .resync(let reason, _): resync = reason
        }
        let wait = PendingWait(id: id, call: call, resync: resync, request: line, of: self)
        let past = self.server.ring.reaches(back: passed) ? nil : self.server.past
        if past == nil {
            if self.judge(wait, after: passed) { return }
            if call.timeoutMs == 0 {
                self.timeOut(wait)
                return
            }
        }
        guard !self.isMute else { return }
        self.waits.append(wait)
        if let past {
            self.search(past, for: wait, after: passed)
        } else {
            self.server.waits.add(wait)
        }
        if let timeoutMs = call.timeoutMs, timeoutMs > 0 {
            wait.timeout = self.channel.eventLoop.assumeIsolated().scheduleTask(
                in: .bounded(milliseconds: timeoutMs)
            ) { [weak self] in
                guard let self, wait.entered == nil, self.remove(wait) else { return }
                self.server.catchUp()
                self.timeOut(wait)
                self.server.turns.want(self)
            }
        }
    }

    /// Answers a wait if a change after `seq`, which the ring has to have, or the current state decides
    /// it.
    private func judge(_ wait: PendingWait, after seq: UInt64) -> Bool {
        var passed = seq
        while passed < self.server.ring.head {
            passed += 1
            let entered = self.server.ring[passed].entered
            if let verdict = wait.call.verdict(entered.state.matches) {
                self.answer(wait, verdict, self.server.report(of: entered))
                return true
            }
        }
        guard let verdict = wait.call.verdict(self.server.isCurrent) else { return false }
        self.answer(wait, verdict, self.server.report)
        return true
    }

    /// Holds the changes before the ring against a wait, a few at a time; only when it has come to the
    /// ring is it held against what happens.
    private func search(_ past: Past, for wait: PendingWait, after seq: UInt64) {
        wait.isSearching = true
        let (call, head) = (wait.call, self.server.ring.head)
        let searcher = NIOLoopBound((self, wait), eventLoop: self.channel.eventLoop)
        past.read(
            after: seq,
            making: { transitions -> PastVerdict in
                // What is committed may be ahead of what has been announced.
                for transition in transitions where transition.seq <= head {
                    let verdict = call.verdict { transition.new.first(of: [$0]) != nil }
                    if let verdict { return .decided(verdict, transition.report(in: past.epoch)) }
                }
                return .examined(min(head, transitions.last?.seq ?? seq))
            },
            done: { finding in
                let (connection, wait) = searcher.value
                connection.searched(past, for: wait, finding.following(seq))
            }
        )
    }

    private func searched(_ past: Past, for wait: PendingWait, _ found: PastVerdict?) {
        guard self.waits.contains(where: { $0 === wait }) else { return }
        self.server.catchUp()
        wait.isSearching = false
        let isAnswered: Bool
        switch found {
        case .decided(let verdict, let report):
            self.answer(wait, verdict, report)
            isAnswered = true
        case .examined(let seq):
            guard self.server.ring.reaches(back: seq) else {
                self.search(past, for: wait, after: seq)
                return
            }
            isAnswered = self.judge(wait, after: seq)
        case nil:
            wait.resync = .evicted
            isAnswered = self.judge(wait, after: self.server.ring.head)
        }
        if !isAnswered, wait.call.timeoutMs == 0 {
            self.timeOut(wait)
        } else if !isAnswered {
            self.server.waits.add(wait)
            return
        }
        wait.timeout?.cancel()
        _ = self.remove(wait)
        self.server.turns.want(self)
    }

    /// Answers the waits that changes have ended.
    func answerWaits() {
        self.hasEndedWaits = false
        var left: [PendingWait] = []
        for wait in self.waits {
            guard let entered = wait.entered, let verdict = wait.call.verdict(entered.state.matches)
            else {
                left.append(wait)
                continue
            }
            wait.timeout?.cancel()
            self.answer(wait, verdict, self.server.report(of: entered))
        }
        self.waits = left
    }

    private func remove(_ wait: PendingWait) -> Bool {
        guard let index = self.waits.firstIndex(where: { $0 === wait }) else { return false }
        self.waits.remove(at: index)
        self.server.waits.remove(wait)
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

/// What a few old changes say to a wait.
private enum PastVerdict: Sendable {
    case decided(PendingWait.Verdict, ServerLine.Report)
    /// Nothing, up to that one.
    case examined(UInt64)
}

extension LineWriter {
    fileprivate mutating func resync(_ resync: ServerLine.Resync?) {
        if let resync { self.string("resync", resync.rawValue) }
    }
}

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
        try self.checkRoom(for: line)
        self.waits.append(wait)
        if let past {
            wait.passed = passed
            self.search(past)
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

    /// Holds changes before the ring against the waits that have not come so far, a few at a time and with
    /// one read for as many as it serves; only when one has come to the ring is it held against what
    /// happens.
    private func search(_ past: Past) {
        let waits = self.nextToSearch()
        guard !self.isSearching, let seq = waits.first?.passed else { return }
        self.isSearching = true
        let search = PastSearch(
            waits: waits.map { (call: $0.call, passed: $0.passed ?? seq) },
            head: self.server.ring.head
        )
        let searcher = NIOLoopBound((self, waits), eventLoop: self.channel.eventLoop)
        past.read(
            after: seq,
            for: self.peer.uid,
            making: { search.verdicts(on: $0, in: past.epoch) },
            done: { finding in
                let (connection, waits) = searcher.value
                connection.isSearching = false
                connection.server.catchUp()
                for (wait, verdict) in zip(waits, search.verdicts(in: finding, after: seq)) {
                    connection.searched(wait, verdict)
                }
                connection.search(past)
                connection.server.turns.want(connection)
            }
        )
    }

    /// Those that have come least far, as many as one look may be for.
    private func nextToSearch() -> [PendingWait] {
        let waits = self.waits.filter(\.isSearching)
            .sorted { ($0.passed ?? 0) < ($1.passed ?? 0) }
        var patterns = 0
        let count = waits.prefix { wait in
            patterns += wait.call.until.count + wait.call.fail.count
            return patterns <= PastSearch.patterns
        }.count
        return Array(waits.prefix(max(count, 1)))
    }

    /// Files what a look into the past has said to a wait; nil: what follows is not to be had.
    private func searched(_ wait: PendingWait, _ verdict: PastSearch.Verdict?) {
        guard self.waits.contains(where: { $0 === wait }) else { return }
        let isAnswered: Bool
        switch verdict {
        case .decided(let verdict, let report):
            self.answer(wait, verdict, report)
            isAnswered = true
        case .examined(let seq):
            guard self.server.ring.reaches(back: seq) else {
                wait.passed = seq
                return
            }
            isAnswered = self.judge(wait, after: seq)
        case nil:
            wait.resync = .evicted
            isAnswered = self.judge(wait, after: self.server.ring.head)
        }
        wait.passed = nil
        if !isAnswered {
            guard wait.call.timeoutMs == 0 else {
                self.server.waits.add(wait)
                return
            }
            self.timeOut(wait)
        }
        wait.timeout?.cancel()
        _ = self.remove(wait)
    }

    /// Answers the waits that changes have ended, while fewer than so many bytes have to be read.
    func answerWaits(until bytes: Int) {
        self.hasEndedWaits = false
        var left: [PendingWait] = []
        for wait in self.waits {
            guard let entered = wait.entered, let verdict = wait.call.verdict(entered.state.matches)
            else {
                left.append(wait)
                continue
            }
            guard self.replyBytes < bytes else {
                self.hasEndedWaits = true
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

extension LineWriter {
    fileprivate mutating func resync(_ resync: ServerLine.Resync?) {
        if let resync { self.string("resync", resync.rawValue) }
    }
}

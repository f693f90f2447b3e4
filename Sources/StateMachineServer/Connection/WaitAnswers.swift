import StateMachineProtocol

/// Checks a connection's waits against what the server has in memory, and answers them.
///
/// A pending wait is not a reply in flight; its answer is.
///
/// Belongs to the event loop.
struct WaitAnswers {
    private let server: StateServer
    private let outbox: Outbox
    private let turn: ConnectionTurn

    init(server: StateServer, outbox: Outbox, turn: ConnectionTurn) {
        self.server = server
        self.outbox = outbox
        self.turn = turn
    }

    /// Checks a wait against changes after `seq` and the state; returns whether it was answered.
    ///
    /// The ring has to hold those changes. If there is no time for all of them, the wait is still
    /// searching afterwards.
    func evaluate(_ wait: PendingWait, after seq: UInt64) -> Bool {
        var passed = seq
        var pause = self.server.endOfPiece(after: passed, patterns: wait.call.patterns)
        while passed < self.server.ring.head {
            if passed == pause {
                guard !self.turn.isOver else {
                    wait.passed = passed
                    return false
                }
                pause = self.server.endOfPiece(after: passed, patterns: wait.call.patterns)
            }
            passed += 1
            let entered = self.server.ring[passed].entered
            if let result = wait.call.result(entered.state.matches) {
                self.answer(wait, result, self.server.report(of: entered))
                return true
            }
        }
        wait.passed = nil
        if let result = wait.call.result(self.server.isCurrent) {
            self.answer(wait, result, self.server.report)
            return true
        }
        guard wait.call.timeoutMs == 0 else { return false }
        self.timeOut(wait)
        return true
    }

    /// Answers a wait that a state has ended.
    func answer(
        _ wait: PendingWait,
        _ result: PendingWait.Result,
        _ report: ServerLine.Report
    ) {
        switch result {
        case .reached(let pattern):
            self.outbox.append(
                ServerLine.reply(
                    id: wait.id,
                    report: report,
                    own: { $0.json("matched", pattern.written) },
                    rest: { writer in
                        self.server.writeOrigin(of: report.seq, to: &writer)
                        writer.resync(wait.resync)
                    }
                ),
                replies: 1
            )
        case .failed(let pattern):
            let message = "reached \(report.stateText), which counts as failure"
            self.refuse(wait, WireError(.failedState, message), report) { writer in
                writer.json("matched", pattern.written)
            }
        }
    }

    /// Answers a wait whose time is over.
    func timeOut(_ wait: PendingWait) {
        let report = self.server.report
        let message =
            "still \(self.server.stateText) after \(wait.call.timeoutMs ?? 0) ms; "
            + "it has been since \(report.at.rfc3339)"
        self.refuse(wait, WireError(.timeout, message))
    }

    /// Refuses a wait; without a report, with that of the current state.
    func refuse(
        _ wait: PendingWait,
        _ error: WireError,
        _ report: ServerLine.Report? = nil,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.outbox.append(
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

import StateMachineCore
import StateMachineProtocol

/// A look for the states that several waits of one connection wait for, among the next few changes before the
/// ring.
struct HistorySearch: Sendable {
    /// A wait, and the last change that it has been held against.
    typealias Wait = (call: WaitCall, passed: UInt64)

    /// What the changes say to a wait.
    enum Verdict: Sendable {
        case decided(PendingWait.Verdict, ServerLine.Report)
        /// Nothing, up to that one.
        case examined(UInt64)
    }

    /// Patterns that one look may hold against each change, unless a single wait has more.
    ///
    /// 64: as many as a request may have, so that a user's turn costs the others no more than the longest
    /// request does.
    static let patterns = RequestLimits.patterns

    let waits: [Wait]
    /// The newest change that has been announced; more may be committed.
    let head: UInt64

    /// What the changes say to each wait, in the order of ``waits``.
    func verdicts(on transitions: [RecordedTransition], in epoch: Epoch) -> [Verdict] {
        var verdicts = self.waits.map { Verdict.examined($0.passed) }
        for transition in transitions where transition.seq <= self.head {
            let names = transition.new.names
            for (index, wait) in self.waits.enumerated() {
                guard case .examined(let passed) = verdicts[index], passed < transition.seq else {
                    continue
                }
                verdicts[index] =
                    wait.call.verdict(names).map { .decided($0, transition.report(in: epoch)) }
                    ?? .examined(transition.seq)
            }
        }
        return verdicts
    }

    /// What a read has said to each wait; nil to one for which what follows is not to be had.
    func verdicts(in finding: HistoryChunk<[Verdict]>, after seq: UInt64) -> [Verdict?] {
        switch finding {
        case .found(let verdicts, let first):
            zip(self.waits, verdicts).map { wait, verdict in
                wait.passed + 1 < first ? nil : verdict
            }
        case .nothing: self.waits.map { _ in nil }
        // Others may find what follows their own place.
        case .unreadable: self.waits.map { $0.passed == seq ? nil : .examined($0.passed) }
        }
    }
}

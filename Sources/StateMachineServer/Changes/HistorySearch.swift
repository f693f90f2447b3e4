import StateMachineCore
import StateMachineProtocol

/// A look for the states that several waits of one connection wait for, among the next few changes before the
/// ring.
struct HistorySearch: Sendable {
    /// A wait, and the last change that it has been held against.
    typealias Wait = (call: WaitCall, passed: UInt64)

    /// What the changes say to a wait.
    enum Progress: Sendable {
        case decided(PendingWait.Result, ServerLine.Report)
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
    func progress(on transitions: [RecordedTransition], in epoch: Epoch) -> [Progress] {
        var progress = self.waits.map { Progress.examined($0.passed) }
        for transition in transitions where transition.seq <= self.head {
            let names = transition.new.names
            for (index, wait) in self.waits.enumerated() {
                guard case .examined(let passed) = progress[index], passed < transition.seq else {
                    continue
                }
                progress[index] =
                    wait.call.result(names).map { .decided($0, transition.report(in: epoch)) }
                    ?? .examined(transition.seq)
            }
        }
        return progress
    }

    /// The progress of each wait; nil of one for which the changes that follow are not available any more.
    func progress(in finding: HistoryChunk<[Progress]>, after seq: UInt64) -> [Progress?] {
        switch finding {
        case .found(let progress, let first):
            zip(self.waits, progress).map { wait, one in
                wait.passed + 1 < first ? nil : one
            }
        case .nothing: self.waits.map { _ in nil }
        // Others may find what follows their own place.
        case .unreadable: self.waits.map { $0.passed == seq ? nil : .examined($0.passed) }
        }
    }
}

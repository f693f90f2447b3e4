import StateMachineCore
import StateMachineProtocol

/// Selects the old changes that a `history` request asks for.
struct ChangeFilter: Sendable {
    let only: PatternList?
    private let by: HistoryCall.Actor?
    private let cause: String?

    init(_ call: HistoryCall) {
        self.only = call.only
        self.by = call.by
        self.cause = call.cause
    }

    /// The query for the history; its answer may include unwanted states of the same names.
    func query(after: UInt64, before: UInt64, isNewestFirst: Bool) -> TransitionQuery {
        var query = TransitionQuery(after: after, before: before, isNewestFirst: isNewestFirst)
        query.names = self.only?.names
        switch self.by {
        case .user(let uid): query.uid = uid
        case .program(let name): query.program = name
        case nil: break
        }
        query.cause = self.cause
        return query
    }

    /// The cost of checking one change, in patterns.
    var patterns: Int {
        // A change's line has some twenty values to parse.
        (self.only?.count ?? 0) + (self.by == nil && self.cause == nil ? 0 : 32)
    }

    /// Whether a change that a query returned is wanted.
    func wants(_ transition: RecordedTransition) -> Bool {
        self.only?.contains(where: transition.new.names) ?? true
    }

    /// Whether a change to `state` is wanted; calls `line` only if the actor or the cause matters.
    func wants(_ state: Value, line: () -> [UInt8]) -> Bool {
        guard self.only?.contains(where: state.matches) ?? true else { return false }
        guard self.by != nil || self.cause != nil else { return true }
        guard let change = Line(line()) else { return false }
        switch self.by {
        case .user(let uid):
            guard change.by?.uid == uid else { return false }
        case .program(let name):
            guard change.by?.runs(name) == true else { return false }
        case nil: break
        }
        guard let cause else { return true }
        return change.cause?.holds(cause) ?? false
    }
}

/// Checks several waits of one connection against the next few changes older than the ring.
struct HistorySearch: Sendable {
    /// A wait, and the last change that it has been checked against.
    typealias Wait = (call: WaitCall, passed: UInt64)

    /// What the changes mean for a wait.
    enum Progress: Sendable {
        case decided(WaitCall.End, ServerLine.Report)
        /// Nothing, up to that change.
        case examined(UInt64)
    }

    /// Patterns that one search may check against each change, unless a single wait has more.
    ///
    /// 32: as many as one list may have, so that a user's turn delays the others no more than the
    /// longest request does.
    static let patterns = RequestLimits.patterns

    let waits: [Wait]
    /// The newest change that has been announced; more may be committed.
    let head: UInt64

    /// Checks each wait against the changes; the results are in the order of ``waits``.
    func progress(on transitions: [RecordedTransition], in epoch: Epoch) -> [Progress] {
        var progress = self.waits.map { Progress.examined($0.passed) }
        for transition in transitions where transition.seq <= self.head {
            let names = transition.new.names
            for (index, wait) in self.waits.enumerated() {
                guard case .examined(let passed) = progress[index], passed < transition.seq else {
                    continue
                }
                progress[index] =
                    wait.call.end(names).map { .decided($0, transition.report(in: epoch)) }
                    ?? .examined(transition.seq)
            }
        }
        return progress
    }

    /// The progress of each wait; nil for one whose next changes are no longer available.
    func progress(in finding: HistoryChunk<[Progress]>, after seq: UInt64) -> [Progress?] {
        switch finding {
        case .found(let progress, let first):
            zip(self.waits, progress).map { wait, one in
                wait.passed + 1 < first ? nil : one
            }
        case .nothing: self.waits.map { _ in nil }
        // The others may still be able to read from their own places.
        case .unreadable: self.waits.map { $0.passed == seq ? nil : .examined($0.passed) }
        }
    }
}

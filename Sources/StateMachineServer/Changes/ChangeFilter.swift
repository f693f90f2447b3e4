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

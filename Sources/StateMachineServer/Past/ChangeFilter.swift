import StateMachineCore
import StateMachineProtocol

/// Selects changes by what is recorded of them.
struct ChangeFilter: Sendable {
    let only: PatternList?
    private var origin = TransitionQuery.Origin()

    init(only: PatternList?) { self.only = only }

    init(_ call: HistoryCall) {
        self.init(only: call.only)
        self.origin.cause = call.cause
        switch call.by {
        case .user(let uid): self.origin.uid = uid
        case .program(let name): self.origin.program = name
        case nil: break
        }
    }

    /// The cost of checking one change, in patterns.
    var patterns: Int {
        // A cause is searched through.
        (self.only?.count ?? 0) + (self.origin.cause == nil ? 0 : 16)
    }

    /// Has a query leave out what it can; its answer may include unwanted states of the same names.
    func narrow(_ query: inout TransitionQuery) {
        query.names = self.only?.names
        query.origin = self.origin
    }

    /// Whether a change that such a query returned is wanted.
    func wants(_ transition: RecordedTransition) -> Bool {
        self.only?.contains(where: transition.new.names) ?? true
    }

    /// Whether a change of the ring is wanted.
    func wants(_ change: ChangeRing.Change) -> Bool {
        self.only?.contains(where: change.entered.state.matches) ?? true
            && self.origin.includes(change.by, change.cause)
    }
}

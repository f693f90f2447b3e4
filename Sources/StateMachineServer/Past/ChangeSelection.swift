import StateMachineCore
import StateMachineProtocol

/// Which changes a reader wants, and in what form.
struct ChangeSelection: Sendable {
    let id: RequestID?
    /// What its lines begin with.
    let head: [UInt8]
    private(set) var only: PatternList?
    private let origin: TransitionQuery.Origin
    /// In `latest`, one line stands for all wanted changes.
    let mode: WatchMode
    let isNewestFirst: Bool
    /// How many at most.
    var limit = UInt64.max

    init(_ call: WatchCall, id: RequestID?) {
        self.id = id
        self.head = ChangeLine.head(id: id)
        self.only = call.only
        self.origin = TransitionQuery.Origin()
        self.mode = call.mode
        self.isNewestFirst = false
    }

    init(_ call: HistoryCall, id: RequestID?) {
        self.id = id
        self.head = ChangeLine.head(id: id)
        self.only = call.only
        var origin = TransitionQuery.Origin()
        origin.cause = call.cause
        switch call.by {
        case .user(let uid): origin.uid = uid
        case .program(let name): origin.program = name
        case nil: break
        }
        self.origin = origin
        self.mode = .all
        self.isNewestFirst = call.order == .newest
        self.limit = call.most
    }

    /// Resolves its patterns anew after a redeclaration.
    mutating func redeclared(by schema: Schema) {
        self.only = self.only.map { schema.resolvedAgain($0) }
    }

    /// The cost of checking one change, in patterns.
    var patterns: Int {
        // A cause is searched through.
        (self.only?.count ?? 0) + (self.origin.cause == nil ? 0 : 16)
    }

    /// Has a query leave out what is not wanted.
    func narrow(_ query: inout TransitionQuery) {
        query.only = self.only.map { [$0] }
        query.origin = self.origin
    }

    /// Whether changes that lead to this state are wanted, whoever made them.
    func wants(_ state: Value, shownBy schema: Schema) -> Bool {
        self.only?.contains { schema.shows(state, as: $0) } ?? true
    }

    /// Whether a change of the ring is wanted.
    func wants(_ row: ChangeRing.Row, shownBy schema: Schema) -> Bool {
        let change = row.change
        return self.wants(change.new, shownBy: schema)
            && self.origin.includes(change.setter, change.cause)
    }
}

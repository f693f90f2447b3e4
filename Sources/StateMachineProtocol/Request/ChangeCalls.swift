/// A request of a change: a `set`, a `send` or an `update`.
package protocol ChangeCall: Sendable {
    var terms: ChangeTerms { get set }

    /// What it asks for of what a machine's file may restrict to some users; `present` is the state that there is.
    func act(in present: String) -> RestrictedAct
}

/// What requests of a change have in common.
package struct ChangeTerms: Hashable, Sendable {
    /// What most requests have none of: an object of its own, so that they are passed on for little.
    private indirect enum Rest: Hashable, Sendable {
        case none
        case some(
            words: [JSONMember],
            condition: ChangeCondition,
            cause: String?,
            isForced: Bool
        )
    }

    package var data: GivenValue?
    private var rest = Rest.none

    package init() {}

    package init(
        data: JSONValue?,
        words: [JSONMember] = [],
        condition: ChangeCondition = ChangeCondition(),
        cause: String? = nil,
        isForced: Bool = false
    ) {
        self.data = data.map { GivenValue($0) }
        self.keep(words, condition, cause, isForced)
    }

    /// Further fields, as words that the fields' types interpret.
    package var words: [JSONMember] {
        get { if case .some(let words, _, _, _) = self.rest { words } else { [] } }
        set { self.keep(newValue, self.condition, self.cause, self.isForced) }
    }

    package var condition: ChangeCondition {
        get { if case .some(_, let condition, _, _) = self.rest { condition } else { .init() } }
        set { self.keep(self.words, newValue, self.cause, self.isForced) }
    }

    package var cause: String? {
        get { if case .some(_, _, let cause, _) = self.rest { cause } else { nil } }
        set { self.keep(self.words, self.condition, newValue, self.isForced) }
    }

    /// Whether no hold and no guard is to be asked.
    package var isForced: Bool {
        get { if case .some(_, _, _, let isForced) = self.rest { isForced } else { false } }
        set { self.keep(self.words, self.condition, self.cause, newValue) }
    }

    /// Whether there is nothing but data.
    package var isPlain: Bool { if case .none = self.rest { true } else { false } }

    private mutating func keep(
        _ words: [JSONMember],
        _ condition: ChangeCondition,
        _ cause: String?,
        _ isForced: Bool
    ) {
        let isPlain = words.isEmpty && condition.isEmpty && cause == nil && !isForced
        self.rest =
            isPlain
            ? .none : .some(words: words, condition: condition, cause: cause, isForced: isForced)
    }
}

extension ChangeCall {
    package var data: GivenValue? {
        get { self.terms.data }
        set { self.terms.data = newValue }
    }

    package var words: [JSONMember] {
        get { self.terms.words }
        set { self.terms.words = newValue }
    }

    package var condition: ChangeCondition {
        get { self.terms.condition }
        set { self.terms.condition = newValue }
    }

    package var cause: String? {
        get { self.terms.cause }
        set { self.terms.cause = newValue }
    }

    package var isForced: Bool {
        get { self.terms.isForced }
        set { self.terms.isForced = newValue }
    }
}

/// Where a machine has to be for a change to be made; all of it has to hold.
package struct ChangeCondition: Hashable, Sendable {
    /// Only at this change.
    package var ifSeq: ExpectedChange?
    /// Only if the current state matches.
    package var ifState: PatternList?
    /// Only in the stay that began with this change.
    package var ifStay: ExpectedChange?

    package init(
        ifSeq: ExpectedChange? = nil,
        ifState: [Pattern] = [],
        ifStay: ExpectedChange? = nil
    ) {
        self.ifSeq = ifSeq
        self.ifState = ifState.isEmpty ? nil : PatternList(ifState)
        self.ifStay = ifStay
    }

    /// Whether there is none.
    package var isEmpty: Bool { self.ifSeq == nil && self.ifState == nil && self.ifStay == nil }

    /// Whether it depends on the current state, and not on its seq alone.
    package var asksForState: Bool { self.ifState != nil || self.ifStay != nil }
}

/// A request that a state be entered.
package struct SetCall: ChangeCall, RequestArguments {
    package var state = Spelling("")
    /// Makes a transition even to the identical state.
    package var reenter = false
    package var terms = ChangeTerms()

    init() {}

    package init(_ state: String, reenter: Bool = false, _ terms: ChangeTerms = ChangeTerms()) {
        self.state = Spelling(state)
        self.reenter = reenter
        self.terms = terms
    }

    static let arguments = RequestTable(
        [.init(.state, \.state, .name) { $0.state = $1 }] + fields + conditions
            + [.init(.reenter, \.reenter, .bool, unless: false) { $0.reenter = $1 }] + reasons
    )

    package func act(in present: String) -> RestrictedAct { .set(self.state.text) }

    func complete(_ operation: Operation) throws(WireError) { try self.checkWords() }
}

/// An event that is sent to a machine.
package struct SendCall: ChangeCall, RequestArguments {
    package var event = ""
    package var terms = ChangeTerms()

    init() {}

    package init(_ event: String, _ terms: ChangeTerms = ChangeTerms()) {
        self.event = event
        self.terms = terms
    }

    static let arguments = RequestTable(
        [.init(.event, \.event, .string) { $0.event = $1 }] + fields + conditions + reasons
    )

    package func act(in present: String) -> RestrictedAct { .send(self.event) }

    func complete(_ operation: Operation) throws(WireError) { try self.checkWords() }
}

/// A request that fields of the present state get other values; null removes one that may be absent.
package struct UpdateCall: ChangeCall, RequestArguments {
    /// What is added to the present values of further fields: numbers.
    package var add: [JSONMember] = []
    package var terms = ChangeTerms()

    init() {}

    package init(adding add: [JSONMember] = [], _ terms: ChangeTerms = ChangeTerms()) {
        self.add = add
        self.terms = terms
    }

    static let arguments = RequestTable(
        fields + [.init(.add, \.add, .amounts, unless: []) { $0.add = $1 }] + conditions + reasons
    )

    package func act(in present: String) -> RestrictedAct { .update(present) }

    func complete(_ operation: Operation) throws(WireError) {
        guard self.data != nil || !self.words.isEmpty || !self.add.isEmpty else {
            throw .lacks(.data, of: .update)
        }
        try self.checkWords()
        guard !self.add.isEmpty else { return }
        try (self.members + self.words).check(self.add, "both set and added to")
    }

    /// All that it asks for, as it was given.
    package var given: FieldWords {
        FieldWords(values: self.members, words: self.words, amounts: self.add)
    }
}

extension ChangeCall where Self: RequestArguments {
    fileprivate static var fields: [RequestArgument<Self>] {
        [
            .init(.data, \.data, .json) { $0.terms.data = $1 },
            .init(.words, \.words, .words, unless: []) { $0.words = $1 },
        ]
    }

    fileprivate static var conditions: [RequestArgument<Self>] {
        [
            .init(.ifSeq, \.condition.ifSeq, .expectedChange) { $0.condition.ifSeq = $1 },
            .init(.ifState, \.condition.ifState, .plainPatterns) { $0.condition.ifState = $1 },
            .init(.ifStay, \.condition.ifStay, .expectedChange) { $0.condition.ifStay = $1 },
        ]
    }

    fileprivate static var reasons: [RequestArgument<Self>] {
        [
            .init(.cause, \.cause, .text) { $0.cause = $1 },
            .init(.force, \.isForced, .bool, unless: false) { $0.isForced = $1 },
        ]
    }

    /// Refuses words for what the data gives.
    fileprivate func checkWords() throws(WireError) {
        guard !self.terms.isPlain, !self.words.isEmpty else { return }
        try self.members.check(self.words, "both in data and in words")
    }
}

extension [JSONMember] {
    /// Refuses what is among these already.
    fileprivate func check(_ further: [JSONMember], _ fault: String) throws(WireError) {
        let given = Set(self.map { Spelling($0.key) })
        guard let doubled = further.first(where: { given.contains(Spelling($0.key)) }) else {
            return
        }
        throw WireError(.badRequest, "\(doubled.key.quoted) is \(fault); give it once")
    }
}

extension ChangeCall {
    /// The members of the data; none if there is none, or it is no object.
    package var members: [JSONMember] { self.data?.value.members ?? [] }

    /// The same, with numbers for the cursors that `seq` knows the place of; the others can never be met.
    package func placed(by seq: (_ cursor: String) -> UInt64?) -> Self {
        var call = self
        call.condition.ifSeq = self.condition.ifSeq?.placed(by: seq)
        call.condition.ifStay = self.condition.ifStay?.placed(by: seq)
        return call
    }
}

/// The change that a request expects the machine to be at, or its stay to have begun with.
public enum ExpectedChange: Hashable, Sendable {
    /// The change of that number, whatever the numbering.
    case seq(UInt64)
    /// A cursor, `<epoch>:<seq>`: the change of that number in its own numbering, or in one that continues it.
    ///
    /// In any other numbering it is no change, so that what the request asks for is refused.
    case cursor(String)

    fileprivate func placed(by seq: (_ cursor: String) -> UInt64?) -> ExpectedChange {
        switch self {
        case .seq: self
        case .cursor(let cursor): seq(cursor).map { .seq($0) } ?? self
        }
    }

    /// The number; nil for a cursor.
    package var seq: UInt64? {
        switch self {
        case .seq(let seq): seq
        case .cursor: nil
        }
    }
}

extension ExpectedChange: ExpressibleByIntegerLiteral {
    /// A number in whatever numbering.
    public init(integerLiteral value: UInt64) { self = .seq(value) }
}

extension RequestForm<ExpectedChange> {
    static var expectedChange: Self {
        Self(
            "an integer from 0 to 2^53 - 1, or a cursor",
            { (text, place) in
                text.string(at: place).map { .cursor($0) } ?? text.count(at: place).map { .seq($0) }
            },
            { expected in
                switch expected {
                case .seq(let seq): .integer(seq)
                case .cursor(let cursor): .string(cursor)
                }
            }
        )
    }
}

// Changing the state.
extension Request {
    /// Requests that a state be entered.
    ///
    /// - Parameters:
    ///   - state: the case's name.
    ///   - data: the associated values; nil leaves the key out.
    ///   - words: further values as people type them, in strings; the field's type says what each
    ///     means.
    ///   - ifSeq: only if the machine is at this change.
    ///   - ifState: only if these patterns together select the current state; if empty, any state.
    ///   - ifStay: only in the stay that began with this change.
    ///   - reenter: whether even the identical state makes a transition.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    ///   - force: whether no hold and no guard is asked; for root and the daemon's own user.
    /// - Returns: the request.
    public static func set(
        _ state: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: ExpectedChange? = nil,
        ifState: [Pattern] = [],
        ifStay: ExpectedChange? = nil,
        reenter: Bool = false,
        cause: String? = nil,
        force: Bool = false
    ) -> Request {
        let terms = ChangeTerms(
            data: data.map { .object($0) },
            words: words,
            condition: ChangeCondition(ifSeq: ifSeq, ifState: ifState, ifStay: ifStay),
            cause: cause,
            isForced: force
        )
        return Request(.set(SetCall(state, reenter: reenter, terms)))
    }

    /// Sends an event to a machine that has events.
    ///
    /// - Parameters:
    ///   - event: its name.
    ///   - data: what it carries; nil leaves the key out.
    ///   - words: further fields as people type them, in strings; the field's type says what each
    ///     means.
    ///   - ifSeq: only if the machine is at this change.
    ///   - ifState: only if these patterns together select the current state; if empty, any state.
    ///   - ifStay: only in the stay that began with this change.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    ///   - force: whether no hold and no guard is asked; for root and the daemon's own user.
    /// - Returns: the request.
    public static func send(
        _ event: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: ExpectedChange? = nil,
        ifState: [Pattern] = [],
        ifStay: ExpectedChange? = nil,
        cause: String? = nil,
        force: Bool = false
    ) -> Request {
        let terms = ChangeTerms(
            data: data.map { .object($0) },
            words: words,
            condition: ChangeCondition(ifSeq: ifSeq, ifState: ifState, ifStay: ifStay),
            cause: cause,
            isForced: force
        )
        return Request(.send(SendCall(event, terms)))
    }

    /// Gives fields of the present state new values, without leaving the state.
    ///
    /// - Parameters:
    ///   - data: the new values; null removes a field that may be absent.
    ///   - words: further values as people type them, in strings; the field's type says what each
    ///     means.
    ///   - amounts: numbers to be added to the values that further fields have at the request's turn.
    ///   - ifSeq: only if the machine is at this change.
    ///   - ifState: only if these patterns together select the current state; if empty, any state.
    ///   - ifStay: only in the stay that began with this change.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    ///   - force: whether no hold and no guard is asked; for root and the daemon's own user.
    /// - Returns: the request.
    public static func update(
        _ data: [JSONMember],
        words: [JSONMember] = [],
        adding amounts: [JSONMember] = [],
        ifSeq: ExpectedChange? = nil,
        ifState: [Pattern] = [],
        ifStay: ExpectedChange? = nil,
        cause: String? = nil,
        force: Bool = false
    ) -> Request {
        let terms = ChangeTerms(
            data: data.isEmpty && !amounts.isEmpty ? nil : .object(data),
            words: words,
            condition: ChangeCondition(ifSeq: ifSeq, ifState: ifState, ifStay: ifStay),
            cause: cause,
            isForced: force
        )
        return Request(.update(UpdateCall(adding: amounts, terms)))
    }
}

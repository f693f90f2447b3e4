/// A change to be made, with its conditions: by a `set`, a `send` or an `update`.
package struct ChangeCall: RequestArguments {
    /// The state of a `set`, the event of a `send`; empty for an `update`.
    package var name = ""
    /// Of an update, null removes a field that may be absent.
    package var data: JSONValue?
    /// Further fields, as words that the fields' types interpret.
    package var words: [JSONMember] = []
    /// What an update adds to the present values of further fields: numbers.
    package var add: [JSONMember] = []
    /// Only if the machine is at this change.
    package var ifSeq: ExpectedChange?
    /// Only if the current state matches.
    package var ifState: PatternList?
    /// Only in the stay that began with this change.
    package var ifStay: ExpectedChange?
    /// Makes a transition even to the identical state.
    package var reenter = false
    package var cause: String?

    /// Whether it depends on the current state, and not on its seq alone.
    package var asksForState: Bool { self.ifState != nil || self.ifStay != nil }

    private static let fields: [RequestArgument<Self>] = [
        .init(.data, \.data, .json),
        .init(.words, \.words, .words, unless: []),
    ]
    private static let conditions: [RequestArgument<Self>] = [
        .init(.ifSeq, \.ifSeq, .expectedChange),
        .init(.ifState, \.ifState, .plainPatterns),
        .init(.ifStay, \.ifStay, .expectedChange),
    ]
    private static let cause = RequestArgument<Self>(.cause, \.cause, .text)
    private static let ofSet =
        [.init(.state, \.name, .string)] + fields + conditions
        + [.init(.reenter, \.reenter, .bool, unless: false), cause]
    private static let ofSend = [.init(.event, \.name, .string)] + fields + conditions + [cause]
    static let arguments =
        fields + [.init(.add, \.add, .amounts, unless: [])] + conditions + [cause]

    static func arguments(of operation: Operation) -> [RequestArgument<Self>] {
        switch operation {
        case .set: self.ofSet
        case .send: self.ofSend
        default: self.arguments
        }
    }

    mutating func complete(_ operation: Operation) throws(WireError) {
        if self.words.isEmpty, self.add.isEmpty {
            guard operation != .update || self.data != nil else { throw .lacks(.data, of: .update) }
            return
        }
        let given = self.data?.members ?? []
        try Self.check(self.words, besides: given, "both in data and in words")
        try Self.check(self.add, besides: given + self.words, "both set and added to")
    }

    private static func check(
        _ fields: [JSONMember],
        besides others: [JSONMember],
        _ fault: String
    ) throws(WireError) {
        let given = Set(others.map { Spelling($0.key) })
        guard let doubled = fields.first(where: { given.contains(Spelling($0.key)) }) else {
            return
        }
        throw WireError(.badRequest, "\(doubled.key.quoted) is \(fault); give it once")
    }
}

extension ChangeCall {
    package init(of name: String) { self.init(name: name) }

    /// The same, with numbers for the cursors that `seq` knows the place of; the others can never be met.
    package func placed(by seq: (_ cursor: String) -> UInt64?) -> ChangeCall {
        var call = self
        call.ifSeq = self.ifSeq?.placed(by: seq)
        call.ifStay = self.ifStay?.placed(by: seq)
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
            { value in value.string.map { .cursor($0) } ?? value.count.map { .seq($0) } },
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
    /// - Returns: the request.
    public static func set(
        _ state: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: ExpectedChange? = nil,
        ifState: [Pattern] = [],
        ifStay: ExpectedChange? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) -> Request {
        let call = ChangeCall(
            name: state,
            data: data.map { .object($0) },
            words: words,
            ifSeq: ifSeq,
            ifState: ifState.isEmpty ? nil : PatternList(ifState),
            ifStay: ifStay,
            reenter: reenter,
            cause: cause
        )
        return Request(.set(call))
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
    /// - Returns: the request.
    public static func send(
        _ event: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: ExpectedChange? = nil,
        ifState: [Pattern] = [],
        ifStay: ExpectedChange? = nil,
        cause: String? = nil
    ) -> Request {
        let call = ChangeCall(
            name: event,
            data: data.map { .object($0) },
            words: words,
            ifSeq: ifSeq,
            ifState: ifState.isEmpty ? nil : PatternList(ifState),
            ifStay: ifStay,
            cause: cause
        )
        return Request(.send(call))
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
    /// - Returns: the request.
    public static func update(
        _ data: [JSONMember],
        words: [JSONMember] = [],
        adding amounts: [JSONMember] = [],
        ifSeq: ExpectedChange? = nil,
        ifState: [Pattern] = [],
        ifStay: ExpectedChange? = nil,
        cause: String? = nil
    ) -> Request {
        let call = ChangeCall(
            data: data.isEmpty && !amounts.isEmpty ? nil : .object(data),
            words: words,
            add: amounts,
            ifSeq: ifSeq,
            ifState: ifState.isEmpty ? nil : PatternList(ifState),
            ifStay: ifStay,
            cause: cause
        )
        return Request(.update(call))
    }
}

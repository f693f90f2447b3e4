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
    /// Only if the machine is at this seq.
    package var ifSeq: UInt64?
    /// Only if the current state matches.
    package var ifState: PatternList?
    /// Only in the stay that began with this seq.
    package var ifStay: UInt64?
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
        .init(.ifSeq, \.ifSeq, .count),
        .init(.ifState, \.ifState, .plainPatterns),
        .init(.ifStay, \.ifStay, .count),
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
    ///   - ifSeq: only if the machine is at this seq.
    ///   - ifState: only if these patterns together select the current state; if empty, any state.
    ///   - ifStay: only in the stay that began with this seq.
    ///   - reenter: whether even the identical state makes a transition.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func set(
        _ state: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: [Pattern] = [],
        ifStay: UInt64? = nil,
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
    ///   - ifSeq: only if the machine is at this seq.
    ///   - ifState: only if these patterns together select the current state; if empty, any state.
    ///   - ifStay: only in the stay that began with this seq.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func send(
        _ event: String,
        data: [JSONMember]? = nil,
        words: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: [Pattern] = [],
        ifStay: UInt64? = nil,
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
    ///   - ifSeq: only if the machine is at this seq.
    ///   - ifState: only if these patterns together select the current state; if empty, any state.
    ///   - ifStay: only in the stay that began with this seq.
    ///   - cause: why, for people; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func update(
        _ data: [JSONMember],
        words: [JSONMember] = [],
        adding amounts: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: [Pattern] = [],
        ifStay: UInt64? = nil,
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

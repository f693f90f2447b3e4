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
        let call = SetCall(
            state: state,
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
        let call = SendCall(
            event: event,
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
        let call = UpdateCall(
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

/// An event to send to the machine, with its conditions.
package struct SendCall: Hashable, Sendable {
    package var event: String
    package var data: JSONValue?
    /// Further fields of the event, as words that the fields' types interpret.
    package var words: [JSONMember]
    /// Only if the machine is at this seq.
    package var ifSeq: UInt64?
    /// Only if the current state matches.
    package var ifState: PatternList?
    /// Only in the stay that began with this seq.
    package var ifStay: UInt64?
    package var cause: String?

    package init(
        event: String,
        data: JSONValue? = nil,
        words: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: PatternList? = nil,
        ifStay: UInt64? = nil,
        cause: String? = nil
    ) {
        self.event = event
        self.data = data
        self.words = words
        self.ifSeq = ifSeq
        self.ifState = ifState
        self.ifStay = ifStay
        self.cause = cause
    }

    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            event: try keys.needed(.event, .send, keys.string(.event)),
            data: keys.data,
            words: try keys.words(),
            ifSeq: try keys.count(.ifSeq),
            ifState: try keys.patterns(.ifState),
            ifStay: try keys.count(.ifStay),
            cause: try keys.text(.cause)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.event, .string(self.event))
        members.add(.data, self.data)
        members.add(.words, self.words.isEmpty ? nil : .object(self.words))
        members.add(.ifSeq, self.ifSeq)
        members.add(.ifState, plainly: self.ifState)
        members.add(.ifStay, self.ifStay)
        members.add(.cause, self.cause)
    }
}

/// New values for fields of the present state, without leaving it, with conditions.
package struct UpdateCall: Hashable, Sendable {
    /// Given values replace the present ones; null removes a field that may be absent.
    package var data: JSONValue?
    /// Further fields, as words that the fields' types interpret.
    package var words: [JSONMember]
    /// What is added to the present values of further fields: numbers.
    package var add: [JSONMember]
    /// Only if the machine is at this seq.
    package var ifSeq: UInt64?
    /// Only if the current state matches.
    package var ifState: PatternList?
    /// Only in the stay that began with this seq.
    package var ifStay: UInt64?
    package var cause: String?

    package init(
        data: JSONValue?,
        words: [JSONMember] = [],
        add: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: PatternList? = nil,
        ifStay: UInt64? = nil,
        cause: String? = nil
    ) {
        self.data = data
        self.words = words
        self.add = add
        self.ifSeq = ifSeq
        self.ifState = ifState
        self.ifStay = ifStay
        self.cause = cause
    }

    init(_ keys: RequestKeys) throws(WireError) {
        let words = try keys.words()
        let add = try keys.amounts(besides: words)
        self.init(
            data: words.isEmpty && add.isEmpty
                ? try keys.needed(.data, .update, keys.data) : keys.data,
            words: words,
            add: add,
            ifSeq: try keys.count(.ifSeq),
            ifState: try keys.patterns(.ifState),
            ifStay: try keys.count(.ifStay),
            cause: try keys.text(.cause)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.data, self.data)
        members.add(.words, self.words.isEmpty ? nil : .object(self.words))
        members.add(.add, self.add.isEmpty ? nil : .object(self.add))
        members.add(.ifSeq, self.ifSeq)
        members.add(.ifState, plainly: self.ifState)
        members.add(.ifStay, self.ifStay)
        members.add(.cause, self.cause)
    }
}

/// A state to set, with its conditions.
///
/// A class, so that a set without extras hands on one null pointer.
package final class SetCall: Sendable {
    package let state: String
    package let data: JSONValue?
    /// Further fields of the state, as words that the fields' types interpret.
    package let words: [JSONMember]
    /// Only if the machine is at this seq.
    package let ifSeq: UInt64?
    /// Only if the current state matches.
    package let ifState: PatternList?
    /// Only in the stay that began with this seq.
    package let ifStay: UInt64?
    /// Makes a transition even to the identical state.
    package let reenter: Bool
    package let cause: String?

    /// Whether it depends on the current state, and not on its seq alone.
    package var asksForState: Bool { self.ifState != nil || self.ifStay != nil }

    package init(
        state: String,
        data: JSONValue? = nil,
        words: [JSONMember] = [],
        ifSeq: UInt64? = nil,
        ifState: PatternList? = nil,
        ifStay: UInt64? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) {
        self.state = state
        self.data = data
        self.words = words
        self.ifSeq = ifSeq
        self.ifState = ifState
        self.ifStay = ifStay
        self.reenter = reenter
        self.cause = cause
    }

    convenience init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            state: try keys.needed(.state, .set, keys.string(.state)),
            data: keys.data,
            words: try keys.words(),
            ifSeq: try keys.count(.ifSeq),
            ifState: try keys.patterns(.ifState),
            ifStay: try keys.count(.ifStay),
            reenter: try keys.bool(.reenter) ?? false,
            cause: try keys.text(.cause)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.state, .string(self.state))
        members.add(.data, self.data)
        members.add(.words, self.words.isEmpty ? nil : .object(self.words))
        members.add(.ifSeq, self.ifSeq)
        members.add(.ifState, plainly: self.ifState)
        members.add(.ifStay, self.ifStay)
        members.add(.reenter, self.reenter ? true : nil)
        members.add(.cause, self.cause)
    }
}

extension SetCall: Hashable {
    package static func == (a: SetCall, b: SetCall) -> Bool {
        a.state == b.state && a.data == b.data && a.words == b.words && a.ifSeq == b.ifSeq
            && a.ifState == b.ifState && a.ifStay == b.ifStay && a.reenter == b.reenter
            && a.cause == b.cause
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.state)
        hasher.combine(self.data)
    }
}

/// New values for fields of the present state, which is not left.
package struct UpdateCall: Hashable, Sendable {
    /// What is given replaces; null removes a field that may be absent.
    package var data: JSONValue?
    /// Further fields, as words that the fields' types read.
    package var words: [JSONMember]
    /// Only in the stay that began with this seq.
    package var ifStay: UInt64?
    package var cause: String?

    package init(
        data: JSONValue?,
        words: [JSONMember] = [],
        ifStay: UInt64? = nil,
        cause: String? = nil
    ) {
        self.data = data
        self.words = words
        self.ifStay = ifStay
        self.cause = cause
    }

    init(_ keys: RequestKeys) throws(WireError) {
        let words = try keys.words()
        self.init(
            data: words.isEmpty ? try keys.needed(.data, .update, keys.data) : keys.data,
            words: words,
            ifStay: try keys.count(.ifStay),
            cause: try keys.text(.cause)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.data, self.data)
        members.add(.words, self.words.isEmpty ? nil : .object(self.words))
        members.add(.ifStay, self.ifStay)
        members.add(.cause, self.cause)
    }
}

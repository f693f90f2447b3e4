/// New values for fields of the present state, without leaving it.
package struct UpdateCall: Hashable, Sendable {
    /// Given values replace the present ones; null removes a field that may be absent.
    package var data: JSONValue?
    /// Further fields, as words that the fields' types interpret.
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

/// New values for fields of the present state, which is not left.
package struct UpdateCall: Hashable, Sendable {
    /// What is given replaces; null removes a field that may be absent.
    package var data: JSONValue
    /// Only in the stay that began with this seq.
    package var ifStay: UInt64?
    package var cause: String?

    package init(data: JSONValue, ifStay: UInt64? = nil, cause: String? = nil) {
        self.data = data
        self.ifStay = ifStay
        self.cause = cause
    }

    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            data: try keys.needed(.data, .update, keys[.data]),
            ifStay: try keys.count(.ifStay),
            cause: try keys.text(.cause)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.data, self.data)
        members.add(.ifStay, self.ifStay)
        members.add(.cause, self.cause)
    }
}

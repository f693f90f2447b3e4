import StateMachineClient
import StateMachineProtocol

extension Line {
    /// The line's state as a `state` line has it, without what was missed.
    var stateJSON: JSONValue { .object(self.stateMembers) }

    /// The same as an event of a stream, with why it replaces changes, and how many.
    func stateEvent(resync: String? = nil, missed: UInt64? = nil) -> ServerEvent {
        var members = self.stateMembers
        if let resync { members.append(JSONMember("resync", .string(resync))) }
        if let missed { members.append(JSONMember("missed", .integer(missed))) }
        let data = JSONValue.object(members).description
        return ServerEvent(kind: .state, cursor: self.cursor.flatMap { Cursor($0) }, data: data)
    }

    private var stateMembers: [JSONMember] {
        let keys = ["seq", "state", "data", "at", "stay", "due", "by", "cause", "cursor"]
        return [JSONMember("type", "state")]
            + keys.compactMap { key in self[key].map { JSONMember(key, $0) } }
    }
}

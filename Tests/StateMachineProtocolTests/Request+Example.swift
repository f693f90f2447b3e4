import StateMachineProtocol

extension Request {
    /// The request in the form of the examples: `id` is the second key.
    var example: JSONValue {
        var members = self.object.members ?? []
        if let index = members.firstIndex(where: { $0.key == "id" }) {
            members.insert(members.remove(at: index), at: 1)
        }
        return .object(members)
    }
}

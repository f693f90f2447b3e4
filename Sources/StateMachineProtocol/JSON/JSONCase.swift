/// A case of an enum inside a state's data, by the rule for states: its name and an object of what it carries.
struct JSONCase {
    /// The keys of the object.
    enum Key: String, CodingKey {
        case state
        case data
    }

    /// What has to stand where one is expected.
    static let expected = "object, {\"state\":…,\"data\":{…}}"

    let name: String
    let data: JSONValue

    init(name: String, data: JSONValue) {
        self.name = name
        self.data = data
    }

    /// The case that an object has; nil if it has none, or more than one.
    ///
    /// What carries nothing may do without data.
    init?(_ value: JSONValue) {
        guard let members = value.members, case .string(let name)? = value[Key.state.rawValue],
            members.allSatisfy({ Key(rawValue: $0.key) != nil })
        else { return nil }
        self.init(name: name, data: value[Key.data.rawValue] ?? .object([]))
    }

    /// The case that the compiler's conformance has written: one key, with the values under theirs.
    init(written name: String, _ values: [JSONMember]) {
        let members = values.map { JSONMember(StateField.name(ofKey: $0.key), $0.value) }
        self.init(name: name, data: .object(members))
    }

    var value: JSONValue {
        .object([
            JSONMember(Key.state.rawValue, .string(self.name)),
            JSONMember(Key.data.rawValue, self.data),
        ])
    }
}

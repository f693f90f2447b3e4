/// A case of an enum inside a state's data, in the form of states: its name and an object with its
/// values.
struct JSONCase {
    /// The keys of the object.
    enum Key: String, CodingKey {
        case state
        case data
    }

    /// What error messages say is expected.
    static let expected = "object, {\"state\":…,\"data\":{…}}"

    let name: String
    let data: JSONValue

    init(name: String, data: JSONValue) {
        self.name = name
        self.data = data
    }

    /// The case that an object stands for; nil if it is not a case.
    ///
    /// `data` may be missing if the case carries nothing.
    init?(_ value: JSONValue) {
        guard let members = value.members, case .string(let name)? = value[Key.state.rawValue],
            members.allSatisfy({ Key(rawValue: $0.key) != nil })
        else { return nil }
        self.init(name: name, data: value[Key.data.rawValue] ?? .object([]))
    }

    /// A case in the compiler's encoding: one key, with the values under their keys.
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

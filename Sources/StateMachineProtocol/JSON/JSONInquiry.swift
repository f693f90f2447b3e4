/// Records what a value asks for while it decodes itself, so that members it does not know can be
/// refused.
final class JSONInquiry {
    private var members: [JSONMember] = []
    private var path: [any CodingKey] = []
    /// How many names are listed as known at most.
    ///
    /// 24: two lines of a terminal. A dictionary asks for as many as a client sends.
    private static let told = NearestName.listed

    /// One for each key type that the object was read with.
    private var knows: [(String) -> Bool] = []
    /// The first names that were requested, each once.
    private var asked: [String] = []
    private var insides: [JSONInquiry] = []

    /// Notes that the object is read by a key type; `knows` tells which members that one has.
    func note(
        _ members: [JSONMember],
        at path: [any CodingKey],
        by knows: @escaping (String) -> Bool
    ) {
        self.members = members
        self.path = path
        self.knows.append(knows)
    }

    func ask(for name: String) {
        guard self.asked.count < Self.told, !self.asked.contains(where: { $0.isSpelled(name) })
        else { return }
        self.asked.append(name)
    }

    /// The same for something inside that is read as part of this.
    func inner() -> JSONInquiry {
        let inner = JSONInquiry()
        self.insides.append(inner)
        return inner
    }

    /// - Throws: `DecodingError` for the first member that no key type knows.
    func check() throws {
        for member in self.members where !self.knows.contains(where: { $0(member.key) }) {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: self.path,
                    debugDescription: "there is no field \(member.key.quoted)",
                    underlyingError: UnknownField(name: member.key, known: self.asked)
                )
            )
        }
        for inside in self.insides { try inside.check() }
    }
}

/// A member of an object that the decoded type does not know.
struct UnknownField: Error {
    let name: String
    let known: [String]
}

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
}

extension JSONCase {
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
        let members = values.map { JSONMember(Field.name(ofKey: $0.key), $0.value) }
        self.init(name: name, data: .object(members))
    }

    var value: JSONValue {
        .object([
            JSONMember(Key.state.rawValue, .string(self.name)),
            JSONMember(Key.data.rawValue, self.data),
        ])
    }
}

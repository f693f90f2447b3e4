/// What a value that reads itself from an object has wanted to know, so that what it knows nothing of can be refused.
final class JSONInquiry {
    private var members: [JSONMember] = []
    private var path: [any CodingKey] = []
    /// Up to how many names are told as known.
    ///
    /// 24: two lines of a terminal. A dictionary asks for as many as a client gives it.
    private static let told = NearestName.listed

    /// One for each kind of keys that the object was read by.
    private var knows: [(String) -> Bool] = []
    /// The first names that were asked for, each once.
    private var asked: [String] = []
    private var insides: [JSONInquiry] = []

    /// Notes that the object is read, and which of its members by.
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

    /// The same of something inside that is read as a part of this.
    func inner() -> JSONInquiry {
        let inner = JSONInquiry()
        self.insides.append(inner)
        return inner
    }

    /// - Throws: `DecodingError` of the first member that nothing has a key for.
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

/// A member of an object that what it is decoded as knows nothing of.
struct UnknownField: Error {
    let name: String
    let known: [String]
}

/// Fields as people type them: `key=value`, whose value the field's type reads, and `key:=JSON`, which is JSON on
/// purpose.
package struct FieldWords: Hashable, Sendable {
    /// What is a value as it stands.
    package private(set) var values: [JSONMember]
    /// What is a word, in strings.
    package private(set) var words: [JSONMember]

    package init(values: [JSONMember] = [], words: [JSONMember] = []) {
        self.values = values
        self.words = words
    }

    /// - Parameters:
    ///   - texts: `key=value` or `key:=JSON`.
    ///   - place: where they stand, for what is said of a wrong one.
    /// - Throws: `bad-request` or `limit`.
    package init(_ texts: [String], in place: String) throws(WireError) {
        guard texts.count <= RequestLimits.fields else {
            throw WireError(
                .limit,
                "there are more than \(RequestLimits.fields) fields in \(place)"
            )
        }
        self.init()
        var keys: Set<Spelling> = []
        for text in texts {
            let key = try self.add(text, in: place)
            guard keys.insert(Spelling(key)).inserted else {
                throw WireError(.badRequest, "\(key.quoted) stands twice in \(place)")
            }
        }
    }

    /// Returns the key.
    private mutating func add(_ text: String, in place: String) throws(WireError) -> String {
        let parts = text.split(at: "=", maxSplits: 1)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw WireError(.badRequest, "\(text.quoted) in \(place) should be key=value")
        }
        guard parts[0].utf8.last == UInt8(ascii: ":"), parts[0].utf8.count > 1 else {
            self.words.append(JSONMember(parts[0], .string(parts[1])))
            return parts[0]
        }
        let key = String(Substring(parts[0].utf8.dropLast()))
        guard let value = JSONValue(parsing: parts[1]) else {
            throw WireError(
                .badRequest,
                "\(text.quoted) in \(place) has no JSON after \":=\"; text is \(key.excerpt())=…"
            )
        }
        self.values.append(JSONMember(key, value))
        return key
    }

    /// The same, under other keys.
    func renamed(_ name: (String) -> String) -> FieldWords {
        FieldWords(
            values: self.values.map { JSONMember(name($0.key), $0.value) },
            words: self.words.map { JSONMember(name($0.key), $0.value) }
        )
    }

    package var isEmpty: Bool { self.values.isEmpty && self.words.isEmpty }

    /// All members, words read as the fields are typed.
    ///
    /// One that there is no field for stays a string; if the fields are not all that there are, it is JSON if it
    /// looks like that.
    package func members(typedBy fields: [StateField], areAll: Bool = true) -> [JSONMember] {
        self.values
            + self.words.map { word in
                guard let text = word.value.string else { return word }
                let field = fields.first { $0.name.isSpelled(word.key) }
                let other = areAll ? word.value : JSONValue(typed: text)
                return JSONMember(word.key, field?.value(ofWord: text) ?? other)
            }
    }
}

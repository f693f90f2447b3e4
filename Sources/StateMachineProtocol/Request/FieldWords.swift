/// Fields as people type them: `key=value`, whose value the field's type reads, `key:=JSON`, which is JSON on
/// purpose, and a value alone, which is for the one field that has none.
package struct FieldWords: Hashable, Sendable {
    /// What is a value as it stands.
    package private(set) var values: [JSONMember]
    /// What is a word, in strings; the one that names no field has the empty name.
    package private(set) var words: [JSONMember]

    package init(values: [JSONMember] = [], words: [JSONMember] = []) {
        self.values = values
        self.words = words
    }

    /// - Parameters:
    ///   - texts: `key=value` or `key:=JSON`, and at most one value without a name.
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
            let alone = self.words.first { $0.key.isEmpty }?.value.string ?? ""
            let key = try self.add(text, in: place)
            guard keys.insert(Spelling(key)).inserted else {
                throw WireError(
                    .badRequest,
                    key.isEmpty
                        ? "\(text.quoted) in \(place) is one too many: only one value may stand without its name, "
                            + "and \(alone.quoted) does; write key=value"
                        : "\(key.quoted) stands twice in \(place)"
                )
            }
        }
    }

    /// Returns the key.
    private mutating func add(_ text: String, in place: String) throws(WireError) -> String {
        let parts = text.split(at: "=", maxSplits: 1)
        if parts.count == 1, !text.isEmpty {
            self.words.append(JSONMember("", .string(text)))
            return ""
        }
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
    /// looks like that. One without a name is the value of the only field that has to be given and is not, or else
    /// of the only one that is not given.
    ///
    /// - Parameters:
    ///   - fields: those of `owner`.
    ///   - areAll: whether there are no others.
    ///   - owner: the state or event, for what is said of a word that cannot be told.
    ///   - isUpdate: whether all fields have values already: then a word alone is that of the only field.
    /// - Returns: the members.
    /// - Throws: `bad-data` if no field or several could be meant.
    package func members(
        typedBy fields: [StateField],
        areAll: Bool = true,
        of owner: String,
        isUpdate: Bool = false
    ) throws(WireError) -> [JSONMember] {
        guard let bare = self.words.first(where: { $0.key.isEmpty }) else {
            return self.members(readBy: fields, areAll: areAll)
        }
        let field = try self.field(
            meantBy: bare.value.string ?? "",
            among: fields,
            of: owner,
            isUpdate: isUpdate
        )
        return self.renamed { $0.isEmpty ? field.name : $0 }
            .members(readBy: fields, areAll: areAll)
    }

    /// The same before it is known what they are the fields of: a word without a name keeps none.
    func members(readBy fields: [StateField], areAll: Bool) -> [JSONMember] {
        self.values
            + self.words.map { word in
                guard let text = word.value.string else { return word }
                let field = fields.first { $0.name.isSpelled(word.key) }
                let other = areAll ? word.value : JSONValue(typed: text)
                return JSONMember(word.key, field?.value(ofWord: text) ?? other)
            }
    }

    /// The field that a word without a name is the value of.
    private func field(
        meantBy word: String,
        among fields: [StateField],
        of owner: String,
        isUpdate: Bool
    ) throws(WireError) -> StateField {
        let given = Set((self.values + self.words).map { Spelling($0.key) })
        let open = fields.filter { !given.contains(Spelling($0.name)) }
        let needed = isUpdate ? [] : open.filter(\.isNeeded)
        if let field = needed.count == 1 ? needed.first : open.count == 1 ? open.first : nil {
            return field
        }
        guard !open.isEmpty else {
            throw WireError(
                .badData,
                "\(owner.excerpt()) takes no value beside what is named, and \(word.quoted) was given"
            )
        }
        let names = open.map(\.name)
        let fitting = open.filter {
            !$0.values.isEmpty && $0.objection(to: $0.value(ofWord: word)) == nil
        }
        let example = fitting.count == 1 ? fitting[0].name : names[0]
        throw WireError(
            .badData,
            "\(word.quoted) could be \(names.joined(separator: " or ")) of \(owner.excerpt()); "
                + "write \(example)=\(word.excerpt())",
            known: names
        )
    }
}

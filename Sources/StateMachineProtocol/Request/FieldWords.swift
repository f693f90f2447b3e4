/// Fields as people type them: `key=value`, interpreted by the field's type, `key:=JSON`, which is
/// explicitly JSON, a single value without a key, which is for the one field that has none yet, in an
/// update `key+=number`, and in a pattern comparisons such as `key>=number`.
package struct FieldWords: Hashable, Sendable {
    /// What they are for, which says what may stand there.
    package enum Use: Sendable {
        case data, update, pattern
    }

    /// Values to be taken as they are.
    package private(set) var values: [JSONMember]
    /// Words, in strings; the one without a key has the empty name.
    package private(set) var words: [JSONMember]
    /// What an update adds to present values: numbers.
    package private(set) var amounts: [JSONMember]
    /// What a pattern compares with present values, but for what it asks for as `key=value`.
    package private(set) var comparisons: [ComparisonText]

    package init(
        values: [JSONMember] = [],
        words: [JSONMember] = [],
        amounts: [JSONMember] = [],
        comparisons: [ComparisonText] = []
    ) {
        self.values = values
        self.words = words
        self.amounts = amounts
        self.comparisons = comparisons
    }

    /// - Parameters:
    ///   - texts: `key=value` or `key:=JSON`, at most one value without a name, and what the use allows.
    ///   - place: where they are, for error messages.
    ///   - use: what they are for.
    /// - Throws: `bad-request` or `limit`.
    package init(_ texts: [String], in place: String, for use: Use = .data) throws(WireError) {
        guard texts.count <= RequestLimits.fields else {
            throw WireError(
                .limit,
                "there are more than \(RequestLimits.fields) fields in \(place)"
            )
        }
        self.init()
        var keys: Set<Spelling> = []
        for text in texts {
            if use == .pattern, let comparison = Self.comparison(in: text) {
                self.comparisons.append(comparison)
                continue
            }
            let alone = self.words.first { $0.key.isEmpty }?.value.string ?? ""
            let key = try self.add(text, in: place, for: use)
            guard keys.insert(Spelling(key)).inserted else {
                throw WireError(
                    .badRequest,
                    key.isEmpty
                        ? "\(text.quoted) in \(place) is a second value without a name, after \(alone.quoted); "
                            + "write key=value"
                        : "\(key.quoted) is given twice in \(place)"
                )
            }
        }
    }

    /// A comparison of a field with a value other than `key=value`; nil if the text is none.
    private static func comparison(in text: String) -> ComparisonText? {
        guard let comparison = ComparisonText(text), comparison.comparator != .equal,
            comparison.hasName
        else { return nil }
        return comparison
    }

    /// Returns the key.
    private mutating func add(
        _ text: String,
        in place: String,
        for use: Use
    ) throws(WireError) -> String {
        var parts = text.split(at: "=", maxSplits: 1)
        if use == .pattern, let equality = ComparisonText(text), equality.hasName {
            // With the operator right behind the name, all that follows is the value.
            let isSpaced = parts[0].utf8.last.map { $0 == 0x20 || $0 == 0x09 } ?? false
            parts = [equality.name, isSpaced ? equality.operand : parts[1]]
        }
        if parts.count == 1, !text.isEmpty {
            self.words.append(JSONMember("", .string(text)))
            return ""
        }
        guard parts.count == 2, !parts[0].isEmpty else {
            throw WireError(.badRequest, "\(text.quoted) in \(place) must be key=value")
        }
        if use == .update, parts[0].utf8.last == UInt8(ascii: "+"), parts[0].utf8.count > 1 {
            let key = String(Substring(parts[0].utf8.dropLast()))
            guard let amount = JSONValue(parsing: parts[1]), amount.kind == "number" else {
                throw WireError(
                    .badRequest,
                    "\(text.quoted) in \(place) needs a number after \"+=\", like 1 or -0.5"
                )
            }
            self.amounts.append(JSONMember(key, amount))
            return key
        }
        guard parts[0].utf8.last == UInt8(ascii: ":"), parts[0].utf8.count > 1 else {
            self.words.append(JSONMember(parts[0], .string(parts[1])))
            return parts[0]
        }
        let key = String(Substring(parts[0].utf8.dropLast()))
        guard let value = JSONValue(parsing: parts[1]) else {
            let doubled = JSONValue.doubledKey(in: parts[1])
            let fault =
                doubled.map { "has the key \($0.quoted) twice in one object" }
                ?? "needs JSON after \":=\"; for text write \(key.excerpt())=…"
            throw WireError(.badRequest, "\(text.quoted) in \(place) \(fault)")
        }
        self.values.append(JSONMember(key, value))
        return key
    }

    /// The same fields, under other keys.
    func renamed(_ name: (String) -> String) -> FieldWords {
        FieldWords(
            values: self.values.map { JSONMember(name($0.key), $0.value) },
            words: self.words.map { JSONMember(name($0.key), $0.value) },
            amounts: self.amounts,
            comparisons: self.comparisons.map {
                ComparisonText(name($0.name), $0.comparator, $0.operand)
            }
        )
    }

    /// All members, with words interpreted by the types of the fields.
    ///
    /// A word without a matching field stays a string. A word without a name is the value of the only required field that is not given, or
    /// else of the only field that is not given.
    ///
    /// - Parameters:
    ///   - fields: the fields of `owner`.
    ///   - owner: the state or event, for error messages.
    ///   - isUpdate: whether all fields already have values: then a word alone is for the only
    ///     field.
    /// - Returns: the members.
    /// - Throws: `bad-data` if no field, or more than one, could be meant.
    package func members(
        typedBy fields: [Field],
        of owner: String,
        isUpdate: Bool = false
    ) throws(WireError) -> [JSONMember] {
        guard let bare = self.words.first(where: { $0.key.isEmpty }) else {
            return self.members(readBy: fields)
        }
        let field = try self.field(
            meantBy: bare.value.string ?? "",
            among: fields,
            of: owner,
            isUpdate: isUpdate
        )
        return self.renamed { $0.isEmpty ? field.name : $0 }
            .members(readBy: fields)
    }

    /// The same before it is known whose fields they are: words are what they look like, and one without a name
    /// stays without one.
    var untyped: [JSONMember] {
        self.values
            + self.words.map { word in
                JSONMember(word.key, word.value.string.map { JSONValue(typed: $0) } ?? word.value)
            }
    }

    /// The comparisons, with literals interpreted by the types of the fields; those of an unknown field by their look.
    func comparisons(of fields: [Field]) -> [Comparison] {
        self.comparisons.map { written in
            let field = fields.first { $0.name.isSpelled(written.name) }
            return Comparison(
                name: written.name,
                comparator: written.comparator,
                operand: field?.type.value(ofWord: written.operand)
                    ?? JSONValue(typed: written.operand),
                isOfInstants: field?.type == .instant
            )
        }
    }

    private func members(readBy fields: [Field]) -> [JSONMember] {
        self.values
            + self.words.map { word in
                guard let text = word.value.string else { return word }
                let field = fields.first { $0.name.isSpelled(word.key) }
                return JSONMember(word.key, field?.value(ofWord: text) ?? word.value)
            }
    }

    /// The field whose value a word without a name is.
    private func field(
        meantBy word: String,
        among fields: [Field],
        of owner: String,
        isUpdate: Bool
    ) throws(WireError) -> Field {
        let names =
            (self.values + self.words + self.amounts).map(\.key) + self.comparisons.map(\.name)
        let given = Set(names.map { Spelling($0) })
        let open = fields.filter { !given.contains(Spelling($0.name)) }
        let needed = isUpdate ? [] : open.filter(\.isNeeded)
        if let field = needed.count == 1 ? needed.first : open.count == 1 ? open.first : nil {
            return field
        }
        guard !open.isEmpty else {
            throw WireError(
                .badData,
                "\(word.quoted) has no name, and \(owner.excerpt()) needs no further value; write key=value"
            )
        }
        let known = open.map(\.name)
        let fitting = open.filter {
            !$0.values.isEmpty && $0.misfit(ofKind: $0.value(ofWord: word)) == nil
        }
        let example = fitting.count == 1 ? fitting[0].name : known[0]
        throw WireError(
            .badData,
            "\(word.quoted) could be \(known.joined(separator: " or ")) of \(owner.excerpt()); "
                + "write \(example)=\(word.excerpt())",
            known: known
        )
    }
}

extension FieldWords {
    /// The same, where `key-=number` takes away from a field; a field that is called `key-` is meant where there is one.
    package func steppingDown(in fields: [Field]) throws(WireError) -> FieldWords {
        var (words, amounts) = ([JSONMember](), self.amounts)
        for word in self.words {
            guard word.key.utf8.last == UInt8(ascii: "-"),
                let step = FieldStep(
                    word.key,
                    isField: { name in fields.contains { $0.name.isSpelled(name) } }
                )
            else {
                words.append(word)
                continue
            }
            let text = word.value.string ?? ""
            guard let amount = JSONValue(parsing: text), case .number = amount else {
                throw WireError(.badData, "\(word.key)=\(text.excerpt()): write a number")
            }
            amounts.append(JSONMember(step.field, step.isDown ? amount.negated : amount))
        }
        var names: Set<Spelling> = []
        for key in (self.values + words + amounts).map(\.key)
        where !names.insert(Spelling(key)).inserted {
            throw WireError(.badRequest, "\(key.quoted) is given twice; give it once")
        }
        return FieldWords(values: self.values, words: words, amounts: amounts)
    }
}

/// What stands before the `=` of a step: `tries+` or `tries-`.
package struct FieldStep {
    package let field: String
    package let isDown: Bool

    /// Nil if it is none: `f-` is a field where there is one of that name.
    package init?(_ key: String, isField: (String) -> Bool) {
        let sign = key.utf8.last
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), key.utf8.count > 1,
            !isField(key)
        else { return nil }
        self.field = String(Substring(key.utf8.dropLast()))
        self.isDown = sign == UInt8(ascii: "-")
    }
}

extension JSONValue {
    /// The number with the other sign.
    package var negated: JSONValue {
        guard case .number(let text) = self else { return self }
        return .number(text.utf8.first == UInt8(ascii: "-") ? String(text.dropFirst()) : "-" + text)
    }
}

/// Selects states: those of a name or of a group, or those among them whose data has these values
/// and of whose fields comparisons hold; or all others.
///
/// Written as a string, `name` or `name:key=value,key>=value`, or as an object,
/// `{"state":"name","data":{…},"where":["key>=value"]}`. All others are `!name` and `{"state":"name","not":true}`; in a
/// list this excludes states that the other patterns select.
public struct Pattern: Hashable, Sendable {
    /// The name of a state or of a group.
    package private(set) var name: String
    /// What the data must contain; if empty, anything.
    ///
    /// Words are interpreted by their look until ``Schema/resolved(_:isOld:)`` has interpreted them
    /// by the fields' types.
    package private(set) var data: [JSONMember]
    /// What must hold of the data besides; operands are interpreted as the words in ``data`` are.
    private(set) var comparisons: [Comparison]
    /// The pattern as its author wrote it, to be given back.
    public let written: JSONValue
    /// Whether it excludes the states that it matches.
    package private(set) var isException = false
    private var fields: FieldWords
    /// The group that it names; nil if it names a state, or was not resolved.
    private var group: StateGroup?
    /// The former names of the state, for old changes; empty if it was not resolved.
    private var oldNames: [String] = []

    /// The pattern in that wire form.
    ///
    /// Nothing is refused here: the daemon says what is wrong with an invalid pattern.
    public init(writing written: JSONValue) {
        do {
            self = try Pattern(written)
        } catch {
            // No state has that name.
            self.init(name: "", FieldWords(), written: written)
        }
    }

    /// The pattern that `text` stands for where people type them: an object if it is one, else a
    /// string.
    public init(typed text: String) {
        let (isException, rest) = Self.unmarked(text)
        guard let value = JSONValue(parsing: rest), value.members != nil else {
            self.init(writing: .string(text))
            return
        }
        let pattern = Pattern(writing: value)
        self = isException ? !pattern : pattern
    }

    /// All states but those that `pattern` matches; for a pattern with a `!`, the one without it.
    public static prefix func ! (pattern: Pattern) -> Pattern {
        switch pattern.written {
        case .string(let text):
            let (isException, rest) = Self.unmarked(text)
            return Pattern(writing: .string(isException ? rest : "!" + text))
        case .object(let members):
            let others = members.filter { !$0.key.isSpelled("not") }
            return Pattern(
                writing: .object(pattern.isException ? others : others + [JSONMember("not", true)])
            )
        case .null, .bool, .number, .array: return pattern
        }
    }

    /// Whether a text begins with a `!`, and the rest.
    private static func unmarked(_ text: String) -> (isException: Bool, rest: String) {
        guard text.utf8.first == UInt8(ascii: "!") else { return (false, text) }
        return (true, String(Substring(text.utf8.dropFirst())))
    }

    private init(
        name: String,
        _ fields: FieldWords,
        isException: Bool = false,
        written: JSONValue
    ) {
        self.name = name
        self.isException = isException
        self.fields = fields
        self.written = written
        self.data = fields.untyped
        self.comparisons = fields.comparisons(of: [])
    }

    /// The same pattern, written with its present name and values.
    package var rewritten: Pattern {
        guard self.asksForValues else {
            return Pattern(writing: .string(self.isException ? "!" + self.name : self.name))
        }
        var members = [JSONMember("state", .string(self.name))]
        let data = self.data + self.equalInstants
        if !data.isEmpty { members.append(JSONMember("data", .object(data))) }
        if !self.comparisonTexts.isEmpty {
            let texts = self.comparisonTexts.map { JSONValue.string($0.text) }
            members.append(JSONMember("where", .array(texts)))
        }
        if self.isException { members.append(JSONMember("not", true)) }
        return Pattern(writing: .object(members))
    }

    /// Whether it is written with the names of another one, as which it was resolved.
    func hasNames(of resolved: Pattern) -> Bool {
        self.name.isSpelled(resolved.name) && self.fields == resolved.fields
    }

    /// Whether both are spelled the same.
    public static func == (left: Pattern, right: Pattern) -> Bool {
        left.name.isSpelled(right.name) && left.fields == right.fields
            && left.isException == right.isException && left.written == right.written
    }

    /// Hashes the name and the fields.
    public func hash(into hasher: inout Hasher) {
        self.name.hashSpelling(into: &hasher)
        hasher.combine(self.fields)
    }

    /// The same, with words interpreted by those fields' types and, if it names a group, with that
    /// group.
    func typed(by fields: [Field], of group: StateGroup? = nil) throws(WireError) -> Pattern {
        var pattern = self
        pattern.group = group
        pattern.data = try self.fields.members(typedBy: fields, of: self.name)
        pattern.comparisons = self.fields.comparisons(of: fields)
        return pattern
    }

    /// The same, where moments that it asks for are compared as such: one may be written in several ways.
    func comparingInstants(of fields: [Field]) -> Pattern {
        guard fields.contains(where: { $0.type == .instant }) else { return self }
        var pattern = self
        pattern.data = []
        for member in self.data {
            let field = fields.first { $0.name.isSpelled(member.key) }
            guard field?.type == .instant, member.value.instant != nil else {
                pattern.data.append(member)
                continue
            }
            pattern.comparisons.append(
                Comparison(
                    name: member.key,
                    comparator: .equal,
                    operand: member.value,
                    isOfInstants: true
                )
            )
        }
        return pattern
    }

    /// What ``comparingInstants(of:)`` has made of members of the data.
    private var equalInstants: [JSONMember] {
        self.comparisons.dropFirst(self.comparisonTexts.count)
            .map { JSONMember($0.name, $0.operand) }
    }

    /// The comparisons as they were written, under the fields' present names.
    var comparisonTexts: [ComparisonText] { self.fields.comparisons }

    /// The same, for a state or a group that may have had another name when it was written; with the fields' present
    /// names.
    func renamed(to name: String, with fields: [Field]) -> Pattern {
        var pattern = self
        pattern.name = name
        pattern.fields = self.fields.renamed { key in
            if fields.contains(where: { $0.name.isSpelled(key) }) { return key }
            return fields.first { $0.oldNames.contains { $0.isSpelled(key) } }?.name ?? key
        }
        return pattern
    }

    /// The same, for a state with these former names.
    func called(before oldNames: [String]) -> Pattern {
        var pattern = self
        pattern.oldNames = oldNames
        return pattern
    }

    /// Whether it covers states of that name.
    package func selects(_ name: String) -> Bool {
        self.group?.has(name)
            ?? (name.isSpelled(self.name) || self.oldNames.contains { name.isSpelled($0) })
    }

    /// The present and former names of the states that it covers, unless it names a group.
    var names: [String] { [self.name] + self.oldNames }

    /// The names of all states that it covers, former ones too.
    var coveredNames: [String] { self.group?.names ?? self.names }

    /// Whether it names a group.
    package var isOfGroup: Bool { self.group != nil }

    /// Whether it covers the state of that name with that `data`; the effect of a `!` is up to the
    /// list.
    package func matches(_ name: String, _ data: JSONValue) -> Bool {
        self.selects(name) && self.asksFor(data)
    }

    /// Whether it asks for more than a name.
    package var asksForValues: Bool { !self.data.isEmpty || !self.comparisons.isEmpty }

    /// Whether `data` has everything that it asks for.
    func asksFor(_ data: JSONValue) -> Bool {
        (self.data.isEmpty || JSONValue.object(self.data).isContained(in: data))
            && self.comparisons.allSatisfy { $0.holds(of: data[$0.name]) }
    }

    /// Whether the object in a text has everything that it asks for; nothing else of it is made.
    func asksFor(_ text: JSONText) -> Bool {
        self.data.allSatisfy { text.value(of: $0.key).map($0.value.isContained) ?? false }
            && self.comparisons.allSatisfy { $0.holds(of: text.value(of: $0.name)) }
    }

    /// A name, or `name:key=value,key>=value`; with a `!` in front, all others.
    package init(text: String) throws(WireError) {
        let (isException, rest) = Self.unmarked(text)
        let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":"))
        self.init(
            name: colon.map { String(rest[..<$0]) } ?? rest,
            // Most patterns are a name.
            try colon.map { (colon) throws(WireError) in
                try FieldWords(
                    Self.fields(String(rest[rest.utf8.index(after: colon)...])),
                    in: "pattern \(text.quoted)",
                    for: .pattern
                )
            } ?? FieldWords(),
            isException: isException,
            written: .string(text)
        )
    }

    /// Splits at commas, except inside JSON strings, arrays and objects after `:=`.
    ///
    /// By scalars, each of which is looked at once.
    private static func fields(_ text: String) -> [String] {
        var fields: [String] = []
        var field = String.UnicodeScalarView()
        var (hasKey, isJSON, isText, isEscaped, depth) = (false, false, false, false, 0)
        for scalar in text.unicodeScalars {
            if scalar == ",", depth == 0, !isText, fields.count < RequestLimits.fields {
                fields.append(String(field))
                field = String.UnicodeScalarView()
                (hasKey, isJSON) = (false, false)
                continue
            }
            switch scalar {
            case "=" where !hasKey:
                hasKey = true
                isJSON = field.last == ":"
            case _ where !isJSON: break
            case _ where isEscaped: isEscaped = false
            case "\\" where isText: isEscaped = true
            case "\"": isText.toggle()
            case "[" where !isText, "{" where !isText: depth += 1
            case "]" where !isText, "}" where !isText: depth = max(0, depth - 1)
            default: break
            }
            field.append(scalar)
        }
        return fields + [String(field)]
    }

    /// A pattern as it appears in a request: a string, or `{"state":"name","data":{…},"where":[…]}`.
    package init(_ value: JSONValue) throws(WireError) {
        switch value {
        case .string(let text):
            try self.init(text: text)
        case .object(let members):
            guard let state = value["state"]?.string else {
                throw WireError(.badRequest, "a pattern needs the key \"state\", with a string")
            }
            let known = ["state", "data", "where", "not"]
            if let odd = members.first(where: { key in !known.contains { $0.isSpelled(key.key) } })
            {
                throw WireError(
                    .badRequest,
                    "a pattern has no key \(odd.key.quoted); known: \(known.joined(separator: ", "))",
                    known: known
                )
            }
            guard let isException = (value["not"] ?? false).bool else {
                throw WireError(.badRequest, "\"not\" in a pattern must be true or false")
            }
            guard let data = (value["data"] ?? .object([])).members else {
                throw WireError(.badData, "\"data\" in a pattern must be an object")
            }
            self.init(
                name: state,
                FieldWords(values: data, comparisons: try Self.comparisons(value["where"] ?? [])),
                isException: isException,
                written: value
            )
        case .null, .bool, .number, .array:
            throw WireError(
                .badRequest,
                "a pattern must be a string or an object, not of type \(value.kind)"
            )
        }
    }

    /// What stands under `where`: a list of `key>=value`.
    private static func comparisons(_ value: JSONValue) throws(WireError) -> [ComparisonText] {
        guard let texts = value.elements else {
            throw WireError(
                .badRequest,
                "\"where\" in a pattern must be a list of strings, like [\"percent>=50\"]"
            )
        }
        guard texts.count <= RequestLimits.fields else {
            throw WireError(.limit, "\"where\" has more than \(RequestLimits.fields) comparisons")
        }
        return try texts.map { (text) throws(WireError) in
            guard let comparison = text.string.flatMap({ ComparisonText($0) }), comparison.hasName
            else {
                throw WireError(
                    .badRequest,
                    "\(text.plainText.quoted) in \"where\" must be a field, one of = != < <= > >=, and a value, "
                        + "like percent>=50"
                )
            }
            return comparison
        }
    }

    static func check(count: Int, in place: String) throws(WireError) {
        guard count > RequestLimits.patterns else { return }
        throw WireError(
            .limit,
            "there are \(count) patterns in \(place); at most \(RequestLimits.patterns) are allowed"
        )
    }
}

extension JSONText {
    /// The value of a key of the outermost object, made now; nil if it has none.
    fileprivate func value(of key: String) -> JSONValue? {
        var place = 1
        while place < self.next(after: 0) {
            if self.text(at: place).isSpelled(key) { return self.value(at: place + 1) }
            place = self.next(after: place + 1)
        }
        return nil
    }
}

extension Pattern: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
    /// A pattern in one word.
    public init(stringLiteral value: String) { self.init(writing: .string(value)) }

    /// A pattern as an object.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(writing: .object(elements.map { JSONMember($0.0, $0.1) }))
    }
}

extension String {
    /// Splits by scalars: a separator stays one even if the next scalar combines with it.
    package func split(at separator: Unicode.Scalar, maxSplits: Int = .max) -> [String] {
        self.unicodeScalars.split(
            separator: separator,
            maxSplits: maxSplits,
            omittingEmptySubsequences: false
        )
        .map { String($0) }
    }
}

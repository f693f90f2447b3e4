/// What an operation takes: a value whose properties are the keys of its request.
protocol RequestArguments: Hashable, Sendable {
    init()

    /// Each key and its property, in writing order.
    static var arguments: [RequestArgument<Self>] { get }

    /// Completes what was read with what the daemon takes where nothing is given.
    ///
    /// - Throws: `bad-request` for what does not go together.
    mutating func complete(_ operation: Operation) throws(WireError)
}

extension RequestArguments {
    mutating func complete(_ operation: Operation) {}

    /// The members of the request's object; what is not given is left out.
    func written(for operation: Operation) -> [JSONMember] {
        Self.arguments.compactMap { argument in
            argument.write(self).map { JSONMember(argument.key.rawValue, $0) }
        }
    }
}

/// A key of a request and the property that it stands for.
struct RequestArgument<Call>: Sendable {
    let key: RequestKey
    let isNeeded: Bool
    let read: @Sendable (JSONValue, inout Call) throws(WireError) -> Void
    /// Nil if the key is to be left out.
    let write: @Sendable (Call) -> JSONValue?

    /// A key that is left out where the property is nil.
    init<Value>(
        _ key: RequestKey,
        _ property: any WritableKeyPath<Call, Value?> & Sendable,
        _ form: RequestForm<Value>
    ) {
        self.key = key
        self.isNeeded = false
        self.read = { (value, call) throws(WireError) in
            call[keyPath: property] = try form.read(key, value)
        }
        self.write = { $0[keyPath: property].flatMap(form.write) }
    }

    /// A key that is left out where the property has its usual value; without one it is needed.
    init<Value: Equatable & Sendable>(
        _ key: RequestKey,
        _ property: any WritableKeyPath<Call, Value> & Sendable,
        _ form: RequestForm<Value>,
        unless usual: Value? = nil
    ) {
        self.key = key
        self.isNeeded = usual == nil
        self.read = { (value, call) throws(WireError) in
            if let value = try form.read(key, value) { call[keyPath: property] = value }
        }
        self.write = { call in
            call[keyPath: property] == usual ? nil : form.write(call[keyPath: property])
        }
    }
}

/// How a value stands in a request.
struct RequestForm<Value>: Sendable {
    /// Nil for what counts as not given.
    let read: @Sendable (RequestKey, JSONValue) throws(WireError) -> Value?
    let write: @Sendable (Value) -> JSONValue?
}

extension RequestForm {
    /// A form that must be `expected`: where `read` returns nil, the value is refused.
    init(
        _ expected: String,
        _ read: @escaping @Sendable (JSONValue) -> Value?,
        _ write: @escaping @Sendable (Value) -> JSONValue?
    ) {
        self.init(
            read: { (key, value) throws(WireError) in
                if let value = read(value) { return value }
                throw .misfit(value, of: key, expecting: expected)
            },
            write: write
        )
    }
}

extension WireError {
    /// The refusal of a value that is none of its key's.
    fileprivate static func misfit(
        _ value: JSONValue,
        of key: RequestKey,
        expecting expected: String
    ) -> WireError {
        WireError(
            .badRequest,
            "\(key.rawValue) must be \(expected), not \(value.description.excerpt())"
        )
    }
}

extension RequestForm<String> {
    static var string: Self { Self("a string", \.string, { .string($0) }) }

    /// A text for people to read, of bounded length.
    static var text: Self {
        Self(
            read: { (key, value) throws(WireError) in
                let text = try Self.string.read(key, value)
                guard (text?.utf8.count ?? 0) <= RequestLimits.causeBytes else {
                    throw WireError(
                        .tooLong,
                        "\(key.rawValue) is longer than \(RequestLimits.causeBytes) bytes of UTF-8"
                    )
                }
                return text
            },
            write: { .string($0) }
        )
    }

    /// The name of a required guard or a hold: a word that needs no quoting in a command line.
    static var name: Self {
        let name = Self(
            "1 to \(RequestLimits.requirementNameBytes) letters, digits and \"-_.:@\", "
                + "a letter or a digit first",
            { value in value.string.flatMap { RequestLimits.isRequirementName($0) ? $0 : nil } },
            { .string($0) }
        )
        return Self(
            read: { (key, value) throws(WireError) in
                _ = try Self.string.read(key, value)
                return try name.read(key, value)
            },
            write: name.write
        )
    }
}

extension RequestForm<Bool> {
    static var bool: Self { Self("true or false", \.bool, { .bool($0) }) }
}

extension RequestForm<UInt64> {
    static var count: Self { .count(atMost: nil) }

    /// An integer from 0 to 2^53 - 1, or to `limit`.
    static func count(atMost limit: UInt64?) -> Self {
        Self(
            "an integer from 0 to \(limit?.description ?? "2^53 - 1")",
            { value in value.count.flatMap { $0 <= limit ?? .max ? $0 : nil } },
            { .integer($0) }
        )
    }
}

extension JSONValue {
    /// The number, if it is written as an integer from 0 to 2^53 - 1.
    var count: UInt64? {
        self.integer.flatMap { UInt64(exactly: $0) }
            .flatMap { $0 < RequestLimits.integerBound ? $0 : nil }
    }
}

extension RequestForm where Value: CaseIterable & RawRepresentable<String> & Sendable {
    /// One of a few words.
    static var choice: Self {
        let all = Array(Value.allCases)
        return Self(
            all.map(\.rawValue.quoted).joined(separator: " or "),
            { value in
                value.string.flatMap { word in all.first { $0.rawValue.isSpelled(word) } }
            },
            { .string($0.rawValue) }
        )
    }
}

extension RequestForm<JSONValue> {
    /// Any value; null counts as none.
    static var json: Self { Self(read: { $1 == .null ? nil : $1 }, write: { $0 }) }
}

extension RequestForm<[JSONMember]> {
    static var words: Self {
        Self("an object of strings", { $0.members(all: { $0.string != nil }) }, { .object($0) })
    }

    static var amounts: Self {
        Self("an object of numbers", { $0.members(all: { $0.kind == "number" }) }, { .object($0) })
    }
}

extension JSONValue {
    /// The members, if it is an object and each value is one of these.
    fileprivate func members(all isGood: (JSONValue) -> Bool) -> [JSONMember]? {
        self.members.flatMap { $0.allSatisfy { isGood($0.value) } ? $0 : nil }
    }
}

extension RequestForm<PatternList> {
    /// A pattern or a list of them; an empty list is not written.
    static var patterns: Self {
        Self(
            read: { (key, value) throws(WireError) in try PatternList(value, of: key) },
            write: { $0.isEmpty ? nil : .array($0.patterns.map(\.written)) }
        )
    }

    /// The same, for a key that used to take one pattern: a single one is not written as a list.
    static var plainPatterns: Self {
        Self(
            read: Self.patterns.read,
            write: { $0.count == 1 ? $0.patterns[0].written : Self.patterns.write($0) }
        )
    }
}

extension PatternList {
    fileprivate init(_ value: JSONValue, of key: RequestKey) throws(WireError) {
        let elements: [JSONValue]
        switch value {
        case .array(let several): elements = several
        case .string, .object: elements = [value]
        case .null, .bool, .number:
            throw WireError(
                .badRequest,
                "\(key.rawValue) must be a pattern or an array of patterns, not "
                    + value.description.excerpt()
            )
        }
        guard !elements.isEmpty else {
            throw WireError(.badRequest, "\(key.rawValue) is empty; name at least one state")
        }
        try Pattern.check(count: elements.count, in: key.rawValue)
        self.init(try elements.map { (element) throws(WireError) in try Pattern(element) })
    }
}

/// The members of a request object.
struct RequestKeys {
    private let members: [JSONMember]
    /// The key of each member; nil if the protocol has none of that name.
    private let keys: [RequestKey?]

    init(_ members: [JSONMember]) {
        self.members = members
        self.keys = members.map { RequestKey(spelled: $0.key) }
    }

    private subscript(_ key: RequestKey) -> JSONValue? {
        self.keys.firstIndex(of: key).map { self.members[$0].value }
    }

    var operation: Operation {
        get throws(WireError) {
            guard let value = self[.op] else {
                throw WireError(.badRequest, "the key \"op\" is missing")
            }
            guard let name = value.string else {
                throw .misfit(value, of: .op, expecting: "a string")
            }
            return try Operation.named(name)
        }
    }

    var id: RequestID? {
        get throws(WireError) {
            guard let value = self[.id] else { return nil }
            switch value {
            case .string(let string) where string.utf8.count > RequestLimits.idBytes:
                throw WireError(
                    .badRequest,
                    "id is longer than \(RequestLimits.idBytes) bytes of UTF-8"
                )
            case .number(let text)
            where (value.integer?.magnitude ?? .max) >= RequestLimits.integerBound:
                throw WireError(
                    .badRequest,
                    "id must be an integer below 2^53 in size, not \(text.excerpt())"
                )
            case .null, .bool, .number, .string, .array, .object:
                guard let id = RequestID(value) else {
                    throw WireError(
                        .badRequest,
                        "id must be a string or an integer, not \(value.kind)"
                    )
                }
                return id
            }
        }
    }

    /// What the operation takes.
    func arguments<Call: RequestArguments>(of operation: Operation) throws(WireError) -> Call {
        let arguments = Call.arguments
        // By their places: an argument is not copied for its key.
        try self.check(for: operation) { key in
            arguments.indices.contains { arguments[$0].key == key }
        }
        var call = Call()
        for index in arguments.indices {
            if let value = self[arguments[index].key] {
                try arguments[index].read(value, &call)
            } else if arguments[index].isNeeded {
                throw .lacks(arguments[index].key, of: operation)
            }
        }
        try call.complete(operation)
        return call
    }

    /// Refuses keys that the operation does not know.
    func check(
        for operation: Operation,
        knowing isKnown: (RequestKey) -> Bool = { _ in false }
    ) throws(WireError) {
        let odd = self.keys.firstIndex { key in
            key.map { $0 != .op && $0 != .id && !isKnown($0) } ?? true
        }
        guard let odd else { return }
        let names = ([.op, .id] + operation.keys).map(\.rawValue)
        throw WireError(
            .badRequest,
            "\(operation.rawValue) has no key \(self.members[odd].key.quoted); "
                + "known: \(names.joined(separator: ", "))",
            known: names
        )
    }
}

extension WireError {
    static func lacks(_ key: RequestKey, of operation: Operation) -> WireError {
        WireError(.badRequest, "\(operation.rawValue) needs the key \(key.rawValue.quoted)")
    }
}

/// What an operation takes: a value whose properties are the keys of its request.
protocol RequestArguments: Hashable, Sendable {
    init()

    /// Each key and its property, in writing order.
    static var arguments: RequestTable<Self> { get }

    /// Completes what was read with what the daemon takes where nothing is given.
    ///
    /// - Throws: `bad-request` for what does not go together.
    mutating func complete(_ operation: Operation) throws(WireError)
}

extension RequestArguments {
    mutating func complete(_ operation: Operation) {}

    /// The members of the request's object; what is not given is left out.
    func written(for operation: Operation) -> [JSONMember] {
        Self.arguments.rows.compactMap { argument in
            argument.write(self).map { JSONMember(argument.key.rawValue, $0) }
        }
    }
}

/// What an operation takes, in writing order.
struct RequestTable<Call>: ExpressibleByArrayLiteral, Sendable {
    let rows: [RequestArgument<Call>]
    /// The keys that it takes, each a bit, and those that it needs; see ``RequestKey/bits(_:)``.
    let taken, needed: UInt64

    init(_ rows: [RequestArgument<Call>]) {
        self.rows = rows
        self.taken = RequestKey.bits(rows.map(\.key))
        self.needed = RequestKey.bits(rows.filter(\.isNeeded).map(\.key))
    }

    init(arrayLiteral rows: RequestArgument<Call>...) { self.init(rows) }

    var keys: [RequestKey] { self.rows.map(\.key) }
}

/// A key of a request and the property that it stands for.
struct RequestArgument<Call>: Sendable {
    let key: RequestKey
    /// The key's.
    let number: Int
    let isNeeded: Bool
    /// Sets the property to what is at that place.
    let read: @Sendable (JSONText, JSONText.Place, inout Call) throws(WireError) -> Void
    /// Nil if the key is to be left out.
    let write: @Sendable (Call) -> JSONValue?

    /// A key that is left out where the property is nil.
    init<Value>(
        _ key: RequestKey,
        _ property: any KeyPath<Call, Value?> & Sendable,
        _ form: RequestForm<Value>,
        set: @escaping @Sendable (inout Call, consuming Value) -> Void
    ) {
        (self.key, self.number) = (key, key.number)
        self.isNeeded = false
        self.read = Self.reading(key, form, set)
        self.write = { $0[keyPath: property].flatMap(form.write) }
    }

    /// A key that is left out where the property has its usual value; without one it is needed.
    init<Value: Equatable & Sendable>(
        _ key: RequestKey,
        _ property: any KeyPath<Call, Value> & Sendable,
        _ form: RequestForm<Value>,
        unless usual: Value? = nil,
        set: @escaping @Sendable (inout Call, consuming Value) -> Void
    ) {
        (self.key, self.number) = (key, key.number)
        self.isNeeded = usual == nil
        self.read = Self.reading(key, form, set)
        self.write = { call in
            call[keyPath: property] == usual ? nil : form.write(call[keyPath: property])
        }
    }

    private static func reading<Value>(
        _ key: RequestKey,
        _ form: RequestForm<Value>,
        _ set: @escaping @Sendable (inout Call, consuming Value) -> Void
    ) -> @Sendable (JSONText, JSONText.Place, inout Call) throws(WireError) -> Void {
        let read = form.read
        return { (text, place, call) throws(WireError) in
            if let value = try read(key, text, place) { set(&call, value) }
        }
    }
}

/// How a value stands in a request.
struct RequestForm<Value>: Sendable {
    /// Nil for what counts as not given.
    let read: @Sendable (RequestKey, JSONText, JSONText.Place) throws(WireError) -> Value?
    let write: @Sendable (Value) -> JSONValue?
}

extension RequestForm {
    /// A form that must be `expected`: where `read` returns nil, the value is refused.
    init(
        _ expected: String,
        _ read: @escaping @Sendable (JSONText, JSONText.Place) -> Value?,
        _ write: @escaping @Sendable (Value) -> JSONValue?
    ) {
        self.init(
            read: { (key, text, place) throws(WireError) in
                if let value = read(text, place) { return value }
                throw .misfit(text.value(at: place), of: key, expecting: expected)
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
    static var string: Self { Self("a string", { $0.string(at: $1) }, { .string($0) }) }

    /// A text for people to read, of bounded length.
    static var text: Self {
        let string = Self.string
        return Self(
            read: { (key, line, place) throws(WireError) in
                let text = try string.read(key, line, place)
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
            { $0.string(at: $1).flatMap { RequestLimits.isRequirementName($0) ? $0 : nil } },
            { .string($0) }
        )
        let string = Self.string
        return Self(
            read: { (key, text, place) throws(WireError) in
                _ = try string.read(key, text, place)
                return try name.read(key, text, place)
            },
            write: name.write
        )
    }
}

extension RequestForm<Spelling> {
    static var name: Self { Self("a string", { $0.spelling(at: $1) }, { .string($0.text) }) }
}

extension RequestForm<Bool> {
    static var bool: Self { Self("true or false", { $0.bool(at: $1) }, { .bool($0) }) }
}

extension RequestForm<UInt64> {
    static var count: Self { .count(atMost: nil) }

    /// An integer from 0 to 2^53 - 1, or to `limit`.
    static func count(atMost limit: UInt64?) -> Self {
        Self(
            "an integer from 0 to \(limit?.description ?? "2^53 - 1")",
            { $0.count(at: $1).flatMap { $0 <= limit ?? .max ? $0 : nil } },
            { .integer($0) }
        )
    }
}

extension JSONText {
    /// The number there, if it is written as an integer from 0 to 2^53 - 1.
    func count(at place: Place) -> UInt64? {
        self.integer(at: place).flatMap { UInt64(exactly: $0) }
            .flatMap { $0 < RequestLimits.integerBound ? $0 : nil }
    }
}

extension RequestForm where Value: CaseIterable & RawRepresentable<String> & Sendable {
    /// One of a few words.
    static var choice: Self {
        let all = Array(Value.allCases)
        return Self(
            all.map(\.rawValue.quoted).joined(separator: " or "),
            { (text, place) in
                text.string(at: place).flatMap { word in all.first { $0.rawValue.isSpelled(word) } }
            },
            { .string($0.rawValue) }
        )
    }
}

extension RequestForm<GivenValue> {
    /// Any value; null counts as none.
    static var json: Self {
        Self(
            read: { (_, text, place) in
                text.kind(at: place) == .null ? nil : GivenValue(text, at: place)
            },
            write: \.value
        )
    }
}

extension RequestForm<[JSONMember]> {
    static var words: Self {
        Self(
            "an object of strings",
            { $0.value(at: $1).members(all: { $0.string != nil }) },
            { .object($0) }
        )
    }

    static var amounts: Self {
        Self(
            "an object of numbers",
            { $0.value(at: $1).members(all: { $0.kind == "number" }) },
            { .object($0) }
        )
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
            read: { (key, text, place) throws(WireError) in
                try PatternList(text.value(at: place), of: key)
            },
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

/// A request's line that was read, and where its keys are.
struct RequestKeys {
    /// An object.
    let text: JSONText
    private let places: RequestPlaces

    init(_ text: JSONText, at places: RequestPlaces) {
        self.text = text
        self.places = places
    }

    private static let (op, id) = (RequestKey.op.number, RequestKey.id.number)
    /// Those of every operation.
    private static let common = RequestKey.bits([.op, .id])

    var operation: Operation {
        get throws(WireError) {
            guard let place = self.places[Self.op] else {
                throw WireError(.badRequest, "the key \"op\" is missing")
            }
            if let operation = self.text.word(at: place).flatMap({ Operation.table[$0] }) {
                return operation
            }
            guard let name = self.text.string(at: place) else {
                throw .misfit(self.text.value(at: place), of: .op, expecting: "a string")
            }
            throw .unknownOperation(name)
        }
    }

    var id: RequestID? {
        get throws(WireError) {
            guard let place = self.places[Self.id] else { return nil }
            switch self.text.kind(at: place) {
            case .string:
                let string = self.text.text(at: place)
                guard string.utf8.count <= RequestLimits.idBytes else {
                    throw WireError(
                        .badRequest,
                        "id is longer than \(RequestLimits.idBytes) bytes of UTF-8"
                    )
                }
                return .string(string)
            case .number:
                guard let integer = self.text.integer(at: place),
                    integer.magnitude < RequestLimits.integerBound
                else {
                    throw WireError(
                        .badRequest,
                        "id must be an integer below 2^53 in size, not \(self.text.text(at: place).excerpt())"
                    )
                }
                return .integer(integer)
            case .null, .true, .false, .array, .object:
                throw WireError(
                    .badRequest,
                    "id must be a string or an integer, not \(self.text.value(at: place).kind)"
                )
            }
        }
    }

    /// The call of an operation that takes nothing.
    func call(_ call: Request.Call, of operation: Operation) throws(WireError) -> Request.Call {
        try self.check(taken: 0, by: operation)
        return call
    }

    /// What the operation takes.
    func arguments<Call: RequestArguments>(of operation: Operation) throws(WireError) -> Call {
        let table = Call.arguments
        try self.check(taken: table.taken, by: operation)
        var call = Call()
        var left = self.places.given & table.taken | table.needed
        let rows = table.rows
        for index in rows.indices {
            guard left != 0 else { break }
            // By its place: an argument is not copied for its key.
            let number = rows[index].number
            left &= ~(1 << UInt64(number))
            if let place = self.places[number] {
                try rows[index].read(self.text, place, &call)
            } else if rows[index].isNeeded {
                throw .lacks(rows[index].key, of: operation)
            }
        }
        try call.complete(operation)
        return call
    }

    /// Refuses a key that is none of those which the operation takes.
    private func check(taken: UInt64, by operation: Operation) throws(WireError) {
        guard self.places.hasUnknown || self.places.given & ~(taken | Self.common) != 0 else {
            return
        }
        let names = ([.op, .id] + operation.keys).map(\.rawValue)
        var key = 1
        while names.contains(where: { self.text.text(at: key).isSpelled($0) }) {
            key = self.text.next(after: key + 1)
        }
        throw WireError(
            .badRequest,
            "\(operation.rawValue) has no key \(self.text.text(at: key).quoted); "
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

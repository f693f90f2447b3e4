/// Which states are meant: those of one name, or those among them whose data has these values.
///
/// Written as a string, `name` or `name:key=value,key=value`, or as an object,
/// `{"state":"name","data":{…}}`.
public struct Pattern: Hashable, Sendable {
    package let state: String
    /// What the data must have; empty means any.
    package let data: [JSONMember]
    /// The pattern as its author wrote it, to be given back.
    public let written: JSONValue

    /// The pattern that is written like that.
    ///
    /// Nothing is refused here: a daemon that is given what is no pattern says what is wrong with it.
    public init(writing written: JSONValue) {
        do {
            self = try Pattern(written)
        } catch {
            // No state has that name.
            self.init(state: "", data: [], written: written)
        }
    }

    /// What `text` means where people type patterns: an object if it is one, else a string.
    public init(typed text: String) {
        guard let value = JSONValue(parsing: text), value.members != nil else {
            self.init(writing: .string(text))
            return
        }
        self.init(writing: value)
    }

    private init(state: String, data: [JSONMember], written: JSONValue) {
        self.state = state
        self.data = data
        self.written = written
    }

    /// Whether both are written the same.
    public static func == (left: Pattern, right: Pattern) -> Bool {
        left.state.isSpelled(right.state) && left.data == right.data
            && left.written == right.written
    }

    /// Combines the state and the data.
    public func hash(into hasher: inout Hasher) {
        self.state.hashSpelling(into: &hasher)
        hasher.combine(self.data)
    }

    /// Whether it means the state of that name with that `data`.
    package func matches(_ name: String, _ data: JSONValue) -> Bool {
        name.isSpelled(self.state)
            && (self.data.isEmpty || JSONValue.object(self.data).isContained(in: data))
    }

    /// A name, or `name:key=value,key=value`.
    package init(text: String) throws(WireError) {
        let parts = text.split(at: ":", maxSplits: 1)
        var data: [JSONMember] = []
        if parts.count > 1 {
            let fields = parts[1].split(at: ",", maxSplits: RequestLimits.fields)
            data = try Pattern.members(fields, in: "pattern \(text.quoted)")
        }
        self.init(state: parts[0], data: data, written: .string(text))
    }

    /// A pattern as it stands in a request: a string, or `{"state":"name","data":{…}}`.
    package init(_ value: JSONValue) throws(WireError) {
        switch value {
        case .string(let text):
            try self.init(text: text)
        case .object(let members):
            guard let state = value["state"]?.string else {
                throw WireError(.badRequest, "a pattern needs \"state\", a string")
            }
            let odd = members.first { !$0.key.isSpelled("state") && !$0.key.isSpelled("data") }
            if let odd {
                throw WireError(
                    .badRequest,
                    "a pattern has no key \(odd.key.quoted); known: state, data",
                    known: ["state", "data"]
                )
            }
            guard let data = (value["data"] ?? .object([])).members else {
                throw WireError(.badData, "data of a pattern must be an object")
            }
            self.init(state: state, data: data, written: value)
        case .null, .bool, .number, .array:
            throw WireError(
                .badRequest,
                "a pattern is a string or an object, not of type \(value.kind)"
            )
        }
    }

    static func check(count: Int, in place: String) throws(WireError) {
        guard count > RequestLimits.patterns else { return }
        throw WireError(
            .limit,
            "there are \(count) patterns in \(place); there may be \(RequestLimits.patterns)"
        )
    }

    /// `key=value` items; a value that is JSON is that value, else a string.
    static func members(
        _ items: [String],
        in place: String
    ) throws(WireError) -> [JSONMember] {
        guard items.count <= RequestLimits.fields else {
            throw WireError(
                .limit,
                "there are more than \(RequestLimits.fields) fields in \(place)"
            )
        }
        var members: [JSONMember] = []
        var keys: Set<Spelling> = []
        for item in items {
            let parts = item.split(at: "=", maxSplits: 1)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw WireError(
                    .badRequest,
                    "\(item.quoted) in \(place) should be key=value"
                )
            }
            let key = parts[0]
            guard keys.insert(Spelling(key)).inserted else {
                throw WireError(.badRequest, "\(key.quoted) stands twice in \(place)")
            }
            members.append(
                JSONMember(key, JSONValue(typed: parts[1]))
            )
        }
        return members
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
    /// By scalars: a separator stays one even if the next scalar combines with it.
    fileprivate func split(
        at separator: Unicode.Scalar,
        maxSplits: Int = .max
    ) -> [String] {
        self.unicodeScalars.split(
            separator: separator,
            maxSplits: maxSplits,
            omittingEmptySubsequences: false
        )
        .map { String($0) }
    }
}

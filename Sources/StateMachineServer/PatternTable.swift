import StateMachineWire

/// What belongs to patterns, found by a state in one look for each combination of fields that patterns ask
/// for, however many patterns there are.
///
/// A pattern is in it by its state's name and the values that it asks for. One that asks for a number, which has
/// many spellings, or for a part of an object or an array has no place here.
struct PatternTable<Item> {
    private struct Place: Hashable {
        let state: String
        let values: [Scalar]
    }

    /// The fields that patterns of a state ask for, in order, and how many patterns do.
    private var fields: [String: [[String]: Int]] = [:]
    private var items: [Place: Item] = [:]

    /// Changes what belongs to a pattern, which may be nothing; returns whether the pattern has a place.
    @discardableResult
    mutating func update(_ pattern: Pattern, _ body: (inout Item?) -> Void) -> Bool {
        guard let (fields, place) = Self.place(of: pattern) else { return false }
        var item = self.items.removeValue(forKey: place)
        let wasThere = item != nil
        body(&item)
        let isThere = item != nil
        self.items[place] = item
        guard isThere != wasThere else { return true }
        let count = (self.fields[place.state]?[fields] ?? 0) + (isThere ? 1 : -1)
        self.fields[place.state, default: [:]][fields] = count == 0 ? nil : count
        if self.fields[place.state]?.isEmpty == true { self.fields[place.state] = nil }
        return true
    }

    /// What belongs to the patterns that select a state.
    func items(for state: EncodedState) -> [Item] {
        guard let combinations = self.fields[state.name]?.keys else { return [] }
        return combinations.compactMap { fields in
            var values: [Scalar] = []
            for field in fields {
                guard let value = state.data[field].flatMap(Scalar.init) else { return nil }
                values.append(value)
            }
            return self.items[Place(state: state.name, values: values.named(fields))]
        }
    }

    private static func place(of pattern: Pattern) -> (fields: [String], place: Place)? {
        let members = pattern.data.sorted { $0.key < $1.key }
        var values: [Scalar] = []
        for member in members {
            guard member.key.isShort, let value = Scalar(member.value), value.isShort else {
                return nil
            }
            values.append(value)
        }
        let fields = members.map(\.key)
        return (fields, Place(state: pattern.state, values: values.named(fields)))
    }
}

/// A value that is equal to another or not, as patterns have it.
private enum Scalar: Hashable {
    case null
    case bool(Bool)
    case string(String)

    init?(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .string(let string): self = .string(string)
        case .number, .array, .object: return nil
        }
    }

    var isShort: Bool {
        switch self {
        case .null, .bool: true
        case .string(let string): string.isShort
        }
    }
}

extension [Scalar] {
    /// With the fields' names, so that those of different fields differ.
    fileprivate func named(_ fields: [String]) -> [Scalar] {
        fields.map { .string($0) } + self
    }
}

extension String {
    /// Whether it costs little to look for: what Unicode has to put in order first is costly if it is long.
    ///
    /// 64 bytes: more than a name or a value of an enum has. Not tuned.
    fileprivate var isShort: Bool { self.utf8.count <= 64 || self.utf8.allSatisfy { $0 < 0x80 } }
}

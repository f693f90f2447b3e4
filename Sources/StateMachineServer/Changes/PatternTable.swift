import StateMachineCore
import StateMachineProtocol

/// Items by pattern, found for a state without looking at every pattern.
///
/// Finding them takes one look for each combination of fields that patterns ask for, however many
/// patterns there are. A pattern is filed under its state's name and the values that it asks for,
/// texts byte for byte, as patterns compare them. A pattern that asks for a number, which has many
/// spellings, or for a part of an object or an array, and one that means a group have no place
/// here.
struct PatternTable<Item> {
    private struct Place: Hashable {
        let state: String
        let data: [JSONMember]
    }

    /// By state, the sorted names of the fields that patterns ask for, and how many patterns do.
    private var fields: [String: [[JSONValue]: Int]] = [:]
    private var items: [Place: Item] = [:]

    /// Updates a pattern's item, nil if there is none; returns whether the pattern has a place.
    @discardableResult
    mutating func update(_ pattern: Pattern, _ body: (inout Item?) -> Void) -> Bool {
        guard !pattern.isOfGroup, pattern.data.allSatisfy(\.value.isEqualOrNot) else {
            return false
        }
        let data = pattern.data.sorted { $0.key.precedesBytewise($1.key) }
        let place = Place(state: pattern.name, data: data)
        let fields = data.map { JSONValue.string($0.key) }
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

    /// The items of the patterns that match a state.
    func items(for state: Value) -> [Item] {
        guard let combinations = self.fields[state.name]?.keys else { return [] }
        return combinations.compactMap { fields in
            var data: [JSONMember] = []
            for field in fields.compactMap(\.string) {
                guard let value = state.data[field] else { return nil }
                data.append(JSONMember(field, value))
            }
            return self.items[Place(state: state.name, data: data)]
        }
    }
}

extension JSONValue {
    /// Whether patterns compare it as a whole: it has no other spelling and no parts.
    fileprivate var isEqualOrNot: Bool {
        switch self {
        case .null, .bool, .string: true
        case .number, .array, .object: false
        }
    }
}

/// The waits of all connections, by what they wait for: a change costs only the waits that it ends.
///
/// Belongs to the event loop.
struct WaitTable {
    private var table = PatternTable<[ObjectIdentifier: PendingWait]>()
    /// Waits with a pattern that has no place in the table, or with one that excludes states.
    private var others: [ObjectIdentifier: PendingWait] = [:]

    var isEmpty: Bool { self.count == 0 }
    private var count = 0

    /// Checks changes against a wait from now on.
    mutating func add(_ wait: PendingWait) {
        guard !wait.isListed else { return }
        wait.isListed = true
        self.count += 1
        for pattern in wait.call.placed {
            let hasPlace = self.table.update(pattern) { waits in
                waits = waits ?? [:]
                waits?[ObjectIdentifier(wait)] = wait
            }
            if !hasPlace { self.others[ObjectIdentifier(wait)] = wait }
        }
        if wait.call.hasExceptions { self.others[ObjectIdentifier(wait)] = wait }
    }

    mutating func remove(_ wait: PendingWait) {
        guard wait.isListed else { return }
        wait.isListed = false
        self.count -= 1
        for pattern in wait.call.placed {
            self.table.update(pattern) { waits in
                waits?[ObjectIdentifier(wait)] = nil
                if waits?.isEmpty == true { waits = nil }
            }
        }
        self.others[ObjectIdentifier(wait)] = nil
    }

    /// Removes and returns the waits that a state ends.
    mutating func take(endedBy state: Value) -> [PendingWait] {
        guard !self.isEmpty else { return [] }
        var ended: [ObjectIdentifier: PendingWait] = [:]
        for waits in self.table.items(for: state) { ended.merge(waits) { first, _ in first } }
        for (key, wait) in self.others where wait.call.result(state.matches) != nil {
            ended[key] = wait
        }
        for wait in ended.values { self.remove(wait) }
        return Array(ended.values)
    }
}

extension WaitCall {
    /// Whether every change is checked against it while it waits.
    var hasExceptions: Bool { self.until.hasExceptions || self.fail.hasExceptions }

    /// The patterns by which the table finds it.
    fileprivate var placed: [Pattern] {
        self.hasExceptions ? [] : self.until.patterns + self.fail.patterns
    }
}

/// Who may do something: users, groups and `any`, as a machine's file lists them.
package struct Right: Hashable, Sendable {
    /// As they are written, a group with `@` before it.
    package let names: [String]
    /// The users that they are here.
    package let uids: Set<UInt32>
    /// The groups that they are here.
    package let gids: Set<UInt32>

    package init(_ names: [String], uids: Set<UInt32> = [], gids: Set<UInt32> = []) {
        self.names = names
        self.uids = uids
        self.gids = gids
    }

    /// What stands for everybody.
    package static let everybody = "any"

    /// Whether it lets everybody in.
    package var isForAll: Bool { self.names.contains(Self.everybody) }

    /// Whether it lets a user in who is known by name and has groups of those names.
    package func allows(_ user: String, in groups: [String]) -> Bool {
        self.isForAll || user == "root" || self.names.contains(user)
            || groups.contains { self.names.contains("@\($0)") }
    }

    /// The refusal of whoever it does not let in.
    package func refusal(to act: RestrictedAct) -> WireError {
        let names = self.names.filter { $0 != "root" }.map { $0.excerpt() }
        let others = names.dropLast().map { ", \($0)" } + names.suffix(1).map { " and \($0)" }
        return WireError(
            .forbidden,
            "only root\(others.joined()) may \(act.words)",
            may: self.names
        )
    }
}

/// What a machine's file may restrict to some users.
package enum RestrictedAct: Hashable, Sendable {
    case set(String)
    case update(String)
    case send(String)
    /// To hold or guard states.
    case vote

    fileprivate var words: String {
        switch self {
        case .set(let state): "set \(state.excerpt())"
        case .update(let state): "update \(state.excerpt())"
        case .send(let event): "send \(event.excerpt())"
        case .vote: "hold or guard states of this machine"
        }
    }
}

/// Who may do what with a machine, as its file says it.
package struct Rights: Hashable, Sendable {
    /// For all that have no list of their own, and for holds and guards; nil: everybody.
    private let usual: Right?
    private let states: [String: Right]
    private let events: [String: Right]

    /// Nil if the file says nothing of that.
    package init?(usual: Right?, states: [String: Right], events: [String: Right]) {
        guard usual != nil || !states.isEmpty || !events.isEmpty else { return nil }
        self.usual = usual
        self.states = states
        self.events = events
    }

    /// Who may do that; nil: everybody.
    package func right(to act: RestrictedAct) -> Right? {
        switch act {
        case .set(let state), .update(let state): self.states[state] ?? self.usual
        // Whoever could say how a command has ended could move the machine past all rights.
        case .send(EventShape.endOfRun.name): Right([])
        case .send(let event): self.events[event] ?? self.usual
        case .vote: self.usual
        }
    }

    /// As `describe` has it, with the names in the schema's order.
    func described(_ schema: Schema) -> JSONValue {
        func lists(_ names: [String], _ rights: [String: Right]) -> JSONValue? {
            let lists = names.compactMap { name in rights[name].map { JSONMember(name, $0.json) } }
            return lists.isEmpty ? nil : .object(lists)
        }
        let members = [
            ("by", self.usual?.json), ("states", lists(schema.names, self.states)),
            ("events", lists(schema.events.map(\.name), self.events)),
        ]
        return .object(members.compactMap { key, value in value.map { JSONMember(key, $0) } })
    }
}

extension Right {
    fileprivate var json: JSONValue { .array(self.names.map { .string($0) }) }
}

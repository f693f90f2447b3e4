/// Transitions to be prevented or postponed.
package struct HoldCall: Hashable, Sendable {
    /// The states that are not to be entered.
    package var before: PatternList
    package var mode: Request.HoldMode
    /// How long a transition is postponed at most, in milliseconds; nil leaves it to the daemon.
    package var maxMs: UInt64?
    package var why: String?
    /// Its name if it belongs to its user and not to its connection.
    package var name: String?
    /// When it ends then, in milliseconds from now.
    package var untilMs: UInt64?

    /// What a hold does to a transition that it matches.
    package enum Effect {
        /// It is denied.
        case block
        /// It is postponed, by at most that many milliseconds.
        case delay(maxMs: UInt64)
    }

    package var effect: Effect {
        switch self.mode {
        case .block: .block
        case .delay: .delay(maxMs: self.maxMs ?? RequestLimits.defaultVoteMs)
        }
    }
}

extension HoldCall {
    init(_ keys: RequestKeys) throws(WireError) {
        let maxMs = try keys.count(.maxMs, atMost: RequestLimits.voteMs)
        let mode = try keys.choice(.mode, of: Request.HoldMode.self) ?? .block
        guard maxMs == nil || mode == .delay else {
            throw WireError(.badRequest, "maxMs is for the mode \"delay\" only")
        }
        self.init(
            before: try keys.needed(.before, .hold, keys.patterns(.before)),
            mode: mode,
            maxMs: mode == .delay ? maxMs ?? RequestLimits.defaultVoteMs : nil,
            why: try keys.text(.why),
            name: try keys.requirement(.name),
            untilMs: try keys.count(.untilMs, atMost: RequestLimits.untilMs)
        )
        guard (self.name == nil) == (self.untilMs == nil) else {
            throw WireError(
                .badRequest,
                "hold takes \"as\" and \"untilMs\" together: what belongs to no connection needs an end"
            )
        }
    }

    func write(to members: inout RequestMembers) {
        members.add(.before, self.before)
        members.add(.mode, self.mode == .block ? nil : self.mode.rawValue)
        members.add(.maxMs, self.maxMs)
        members.add(.why, self.why)
        members.add(.name, self.name)
        members.add(.untilMs, self.untilMs)
    }
}

/// The members of a request object to be written; those without a value are left out.
struct RequestMembers {
    private(set) var members: [JSONMember] = []

    mutating func add(_ key: RequestKey, _ value: JSONValue?) {
        guard let value else { return }
        self.members.append(JSONMember(key.rawValue, value))
    }

    mutating func add(_ key: RequestKey, _ text: String?) {
        self.add(key, text.map { .string($0) } as JSONValue?)
    }

    mutating func add(_ key: RequestKey, _ number: UInt64?) {
        self.add(key, number.map { .integer($0) } as JSONValue?)
    }

    /// An empty list counts as none.
    mutating func add(_ key: RequestKey, _ list: PatternList?) {
        guard let list, !list.isEmpty else { return }
        self.add(key, .array(list.patterns.map(\.written)))
    }

    /// The same, for a key that used to take one pattern: a single one is not written as a list.
    mutating func add(_ key: RequestKey, plainly list: PatternList?) {
        guard let list, list.count == 1 else { return self.add(key, list) }
        self.add(key, list.patterns[0].written)
    }
}

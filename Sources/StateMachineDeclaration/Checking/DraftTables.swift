import StateMachineProtocol

/// Looks up the names that a file uses.
struct DraftTables {
    let states: [StateDraft]
    let events: [EventDraft]
    let groups: [GroupDraft]
    let links: [LinkDraft]
    /// The machine's fields.
    let shared: [Field]
    private let oldSharedNames: [Located<String>]
    private let stateNumbers: [Spelling: Int]
    private let eventNumbers: [Spelling: Int]
    private let groupNumbers: [Spelling: Int]

    init(_ file: FileDraft) {
        self.states = file.states
        self.events = file.events
        self.groups = file.groups
        self.links = file.links
        self.shared = file.shared
        self.oldSharedNames = file.oldSharedNames
        self.stateNumbers = file.states.map(\.name.value).numbered
        self.eventNumbers = file.events.map(\.name.value).numbered
        self.groupNumbers = file.groups.map(\.name.value).numbered
    }

    func hasState(_ name: String) -> Bool { self.stateNumbers[Spelling(name)] != nil }

    func state(_ name: Located<String>, _ problems: Problems) -> Int? {
        if let number = self.stateNumbers[Spelling(name.value)] { return number }
        let text = name.value.quoted
        if NameRule.reserved.contains(name.value) {
            return problems.refuse(name.position, "\(text) cannot be used here; name a state")
        }
        guard self.groupNumbers[Spelling(name.value)] == nil else {
            return problems.refuse(name.position, "\(text) is a group; name one of its states")
        }
        let remark =
            name.value == "refuse"
            ? "; a refusal is written {refuse: TEXT}"
            : problems.suggestion(for: name.value, among: self.states.lazy.map(\.name.value))
        return problems.refuse(name.position, "there is no state \(text)\(remark)")
    }

    func event(_ name: Located<String>, _ problems: Problems) -> Int? {
        if let number = self.eventNumbers[Spelling(name.value)] { return number }
        let remark =
            self.events.isEmpty
            ? "; list it under \"events\""
            : problems.suggestion(for: name.value, among: self.events.lazy.map(\.name.value))
        return problems.refuse(name.position, "there is no event \(name.value.quoted)\(remark)")
    }

    /// What a text asks of a link; nil, after reporting it, if it is nothing like that, or wrong.
    func linkCondition(_ text: Located<String>, _ problems: Problems) -> LinkCondition? {
        let written = text.value.excerpt()
        guard let condition = LinkCondition(text.value) else {
            let other =
                text.value.hasPrefix("!") ? LinkCondition(String(text.value.dropFirst())) : nil
            return problems.refuse(
                text.position,
                other.map { "\(written): write \($0.link) is !\($0.pattern)" }
                    ?? "\(written) asks nothing of a link; write it like water is ok"
            )
        }
        guard self.links.contains(where: { $0.link.name == condition.link }) else {
            let remark =
                self.links.isEmpty
                ? "; list it under \"links\""
                : problems.suggestion(
                    for: condition.link,
                    among: self.links.lazy.map(\.link.name)
                )
            return problems.refuse(
                text.position,
                "there is no link \(condition.link.quoted)\(remark)"
            )
        }
        // It is the cause of a change.
        guard condition.written.utf8.count <= RequestLimits.causeBytes else {
            return problems.refuse(
                text.position,
                "\(written) is longer than \(RequestLimits.causeBytes) bytes"
            )
        }
        do throws(WireError) {
            let pattern = try Pattern(text: condition.pattern)
            guard !pattern.name.isEmpty else {
                throw WireError(.badRequest, "a state is missing; write it like water is ok")
            }
            // A name has none; elsewhere they stand between conditions.
            guard !pattern.name.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: ",") })
            else {
                throw WireError(
                    .badRequest,
                    "\(pattern.name.quoted) is no state; what is asked of links goes in a list, as in [water is ok, heater is hot]"
                )
            }
            return condition
        } catch {
            return problems.refuse(text.position, "\(written): \(error.message)")
        }
    }

    /// The states that names of states and groups stand for, in the file's order.
    func states(_ names: [Located<String>], _ problems: Problems) -> [Int] {
        var numbers: Set<Int> = []
        for name in names {
            if let number = self.stateNumbers[Spelling(name.value)] {
                numbers.insert(number)
            } else if let group = self.groupNumbers[Spelling(name.value)] {
                numbers.formUnion(self.members(self.groups[group]))
            } else {
                let known = self.states.map(\.name.value) + self.groups.map(\.name.value)
                problems.error(
                    name.position,
                    "there is no state or group \(name.value.quoted)"
                        + problems.suggestion(for: name.value, among: known)
                )
            }
        }
        return numbers.sorted()
    }

    /// The states of a group; problems with its members are reported elsewhere.
    func members(_ group: GroupDraft) -> [Int] {
        Set(group.members.compactMap { self.stateNumbers[Spelling($0.value)] }).sorted()
    }

    /// Reports clashing names of groups and states, unknown members, and clashing old names.
    func check(_ problems: Problems) {
        Self.checkOldNames(
            self.oldSharedNames,
            of: self.shared,
            "the machine",
            problems
        )
        for group in self.groups {
            if let state = self.stateNumbers[Spelling(group.name.value)] {
                problems.error(
                    group.name.position,
                    "\(group.name.value.quoted) is already a state, in line "
                        + "\(self.states[state].name.position.line); give the group another name"
                )
            }
            for member in group.members { _ = self.state(member, problems) }
        }
        var owners: [Spelling: Located<String>] = [:]
        for state in self.states {
            for old in state.oldNames {
                if let taken = self.stateNumbers[Spelling(old.value)] {
                    problems.error(
                        old.position,
                        "\(old.value.quoted) is already a state, in line "
                            + "\(self.states[taken].name.position.line); remove it from \"was\""
                    )
                } else if let owner = owners[Spelling(old.value)] {
                    problems.error(
                        old.position,
                        "\(old.value.quoted) is already in \"was\" of \(owner.value.quoted), in line "
                            + "\(owner.position.line); keep one"
                    )
                } else {
                    owners[Spelling(old.value)] = Located(state.name.value, old.position)
                }
            }
            Self.checkOldNames(
                state.oldFieldNames,
                of: state.fields,
                state.name.value.quoted,
                problems
            )
        }
    }

    private static func checkOldNames(
        _ oldNames: [Located<String>],
        of fields: [Field],
        _ owner: String,
        _ problems: Problems
    ) {
        let names = Set(fields.map(\.name))
        var seen: Set<String> = []
        for old in oldNames {
            if names.contains(old.value) {
                problems.error(
                    old.position,
                    "\(owner) still has a field \(old.value.quoted); remove that name from \"was\""
                )
            } else if !seen.insert(old.value).inserted {
                problems.error(
                    old.position,
                    "\(old.value.quoted) is in \"was\" of two fields of \(owner); keep one"
                )
            }
        }
    }
}

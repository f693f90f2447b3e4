import StateMachineCore
import StateMachineProtocol

extension DraftReader {
    private static let mostStates = 256
    private static let mostEvents = 128
    private static let mostGroups = 32
    /// The most times of a state, and of a group: as many as cases of one place.
    private static let mostTimes = 8
    /// The most fields of the machine.
    ///
    /// 16: each is in every state, and half of what a state may have stays for its own.
    private static let mostSharedFields = 16

    /// Nil, after reporting it, if the file is not a map.
    func file(_ root: YAMLNode) -> FileDraft? {
        guard let section = Section(root, .top, self.problems) else { return nil }
        let text = { (key: String) in section[key]?.text(of: key, self.problems) }
        let target = { (key: String) in section[key].flatMap { self.target($0, of: key) } }
        var reader = self
        if let defaults = section.section("defaults", .defaults) {
            reader.defaults = CommandSettings(defaults)
        }
        reader.shared = self.sharedFields(section["fields"])
        let machine = text("machine").map { self.name($0.value, $0.position).value }
        return FileDraft(
            machine: machine,
            version: text("version")?.value,
            about: text("about")?.value,
            start: target("start"),
            lost: section["lost"].map { self.cases($0, of: "lost", in: .lost) } ?? [],
            boot: section["boot"].map { self.cases($0, of: "boot", in: .boot) },
            to: section["to"].map { self.namesOrAny($0, of: "to") },
            always: self.names(section["always"], of: "always"),
            by: section["by"].map { self.right($0) },
            links: self.links(section["links"], of: machine),
            events: self.events(section["events"]),
            groups: self.groups(section["groups"]),
            breaker: self.breaker(section.section("moves", .moves)),
            shared: reader.shared,
            oldSharedNames: self.oldNames(ofFields: section["fields"]),
            states: reader.states(section.entry("states"))
        )
    }

    private func sharedFields(_ node: YAMLNode?) -> [Field] {
        let fields = self.fields(node, of: "fields", .field)
        guard let node, fields.count > Self.mostSharedFields else { return fields }
        return self.problems.refuse(
            node.position,
            "the machine has \(fields.count) fields; at most \(Self.mostSharedFields) are allowed"
        ) ?? []
    }

    private func events(_ node: YAMLNode?) -> [EventDraft] {
        self.named(node, "events", most: Self.mostEvents, "events").map { name, node in
            let (by, fields) = self.takeRight(of: node)
            return EventDraft(
                name: name,
                fields: self.fields(fields, of: name.value, .eventField),
                by: by
            )
        }
    }

    private func groups(_ node: YAMLNode?) -> [GroupDraft] {
        self.named(node, "groups", most: Self.mostGroups, "groups").compactMap { group in
            guard
                let section = Section(
                    group.value,
                    .group,
                    at: group.name.position,
                    self.problems
                )
            else { return nil }
            return GroupDraft(
                name: group.name,
                members: self.names(section["states"], of: "states"),
                reactions: self.reactions(section["when"]),
                after: section.entry("after").map { self.deadlines($0) } ?? []
            )
        }
    }

    private func states(_ entry: YAMLEntry?) -> [StateDraft] {
        guard let entry else { return [] }
        if case .mapping(let states) = entry.value.content, states.isEmpty {
            self.problems.cut(entry.value.position, "a machine needs at least one state")
        } else if entry.value.isEmpty {
            self.problems.cut(entry.position, "a machine needs at least one state")
        }
        return self.named(entry.value, "states", most: Self.mostStates, "states")
            .map { self.state($0.value, $0.name) }
    }

    private func breaker(_ section: Section?) -> MoveBreaker.Limit {
        MoveBreaker.Limit(
            most: section?["most"]?.integer(of: "most", in: 1...100_000, self.problems) ?? 50,
            time: section?["in"]?.time(of: "in", self.problems) ?? .seconds(60)
        )
    }

    private func state(_ node: YAMLNode, _ name: Located<String>) -> StateDraft {
        guard let section = Section(node, .state, at: name.position, self.problems) else {
            return StateDraft(name: name)
        }
        return StateDraft(
            name: name,
            about: section["about"]?.text(of: "about", self.problems)?.value,
            oldNames: self.names(section["was"], of: "was", orOne: true),
            fields: self.stateFields(section["fields"], of: name),
            oldFieldNames: self.oldNames(ofFields: section["fields"]),
            to: section["to"].map { self.namesOrAny($0, of: "to") },
            requirements: section["requires"].map { self.requirements($0) } ?? [],
            reactions: self.reactions(section["when"]),
            after: section.entry("after").map { self.deadlines($0) } ?? [],
            boot: section["boot"].map { self.cases($0, of: "boot", in: .boot) },
            run: self.run(section),
            enter: self.hooks(section.entry("enter")),
            leave: self.hooks(section.entry("leave")),
            isFinal: section["final"]?.boolean(of: "final", self.problems) ?? false,
            mark: section["mark"].flatMap { self.mark($0) },
            by: section["by"].map { self.right($0) }
        )
    }

    private func mark(_ node: YAMLNode) -> StateMark? {
        if let mark = node.text.flatMap({ StateMark(rawValue: $0) }) { return mark }
        return self.problems.refuse(node.position, "\"mark\" must be good, warn or bad")
    }

    private func deadlines(_ entry: YAMLEntry) -> [DeadlineDraft] {
        guard case .mapping(let times) = entry.value.content, !times.isEmpty else {
            return self.problems.refuse(
                entry.value.position,
                "\"after\" needs a time and a state; write {30s: idle}"
            ) ?? []
        }
        guard times.count <= Self.mostTimes else {
            return self.problems.refuse(
                entry.value.position,
                "there are \(times.count) times; at most \(Self.mostTimes) are allowed"
            ) ?? []
        }
        var seen: Set<String> = []
        return times.map { time in
            let moment = self.moment(time)
            if let moment, !seen.insert(moment.text).inserted {
                self.problems.error(
                    time.position,
                    "the time \(moment.text) is there twice; keep one"
                )
            }
            // The cases are checked even if the time is wrong.
            return DeadlineDraft(
                moment: moment,
                position: time.position,
                cases: self.cases(time.value, of: "after", in: .after)
            )
        }
    }

    /// `90s`, or `{field}`.
    private func moment(_ time: YAMLEntry) -> StateDeclaration.Deadline.Moment? {
        if let name = time.key.text.fieldName { return .field(name) }
        if let first = time.key.text.utf8.first, !first.isDigit {
            let name = time.key.text
            return self.problems.refuse(
                time.position,
                "\(name.quoted) is not a time; write it like 30s, or \"{field}\" for one that a field has"
            )
        }
        let node = YAMLNode(content: .scalar(time.key), position: time.position)
        return node.time(of: "after", self.problems).map { .after($0) }
    }
}

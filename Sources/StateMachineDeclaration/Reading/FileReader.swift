import StateMachineProtocol

/// Reads a file's tree into drafts.
struct FileReader {
    private static let mostStates = 256
    private static let mostEvents = 128
    private static let mostGroups = 32

    private let draft: DraftReader

    private var problems: Problems { self.draft.problems }

    init(_ problems: Problems) { self.draft = DraftReader(problems: problems) }

    /// Nil, after reporting it, if the file is not a map.
    func file(_ root: YAMLNode) -> FileDraft? {
        guard let section = Section(root, .top, self.problems) else { return nil }
        let text = { (key: String) in section[key]?.text(of: key, self.problems) }
        let target = { (key: String) in section[key].flatMap { self.draft.target($0, of: key) } }
        let defaults =
            section.entry("defaults").flatMap {
                Section($0.value, .defaults, at: $0.position, self.problems)
            }
            .map { CommandSettings($0) } ?? CommandSettings()
        return FileDraft(
            machine: text("machine").map { self.draft.name($0.value, $0.position).value },
            version: text("version")?.value,
            about: text("about")?.value,
            start: target("start"),
            lost: target("lost"),
            boot: section["boot"].flatMap { self.draft.move($0, of: "boot", words: ["again"]) },
            to: section["to"].map { self.draft.namesOrAny($0, of: "to") },
            always: section["always"].map { self.draft.names($0, of: "always") } ?? [],
            events: self.events(section["events"]),
            groups: self.groups(section["groups"]),
            breaker: self.breaker(section.entry("moves")),
            states: self.states(section.entry("states"), defaults)
        )
    }

    private func events(_ node: YAMLNode?) -> [EventDraft] {
        let reader = FieldReader(draft: self.draft, table: .eventField)
        return self.draft.named(node, "events", most: Self.mostEvents, "events").map {
            EventDraft(name: $0.name, fields: reader.fields($0.value, of: $0.name.value))
        }
    }

    private func groups(_ node: YAMLNode?) -> [GroupDraft] {
        self.draft.named(node, "groups", most: Self.mostGroups, "groups").compactMap { group in
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
                members: section["states"].map { self.draft.names($0, of: "states") } ?? [],
                reactions: self.draft.reactions(section["when"])
            )
        }
    }

    private func states(_ entry: YAMLEntry?, _ defaults: CommandSettings) -> [StateDraft] {
        guard let entry else { return [] }
        let reader = StateReader(
            draft: self.draft,
            fields: FieldReader(draft: self.draft, table: .field),
            commands: CommandReader(draft: self.draft, defaults: defaults)
        )
        if case .mapping(let states) = entry.value.content, states.isEmpty {
            self.problems.cut(entry.value.position, "a machine needs at least one state")
        } else if entry.value.isEmpty {
            self.problems.cut(entry.position, "a machine needs at least one state")
        }
        return self.draft.named(entry.value, "states", most: Self.mostStates, "states")
            .map { reader.state($0.value, $0.name) }
    }

    private func breaker(_ entry: YAMLEntry?) -> Declaration.Breaker {
        let section = entry.flatMap {
            Section($0.value, .moves, at: $0.position, self.problems)
        }
        return Declaration.Breaker(
            most: section?["most"]?.integer(of: "most", in: 1...100_000, self.problems) ?? 50,
            time: section?["in"]?.time(of: "in", self.problems) ?? .seconds(60)
        )
    }
}

/// Reads the declaration of a state.
struct StateReader {
    let draft: DraftReader
    let fields: FieldReader
    let commands: CommandReader

    private var problems: Problems { self.draft.problems }

    func state(_ node: YAMLNode, _ name: Located<String>) -> StateDraft {
        guard let section = Section(node, .state, at: name.position, self.problems) else {
            return StateDraft(name: name)
        }
        return StateDraft(
            name: name,
            about: section["about"]?.text(of: "about", self.problems)?.value,
            oldNames: section["was"].map { self.draft.names($0, of: "was", orOne: true) } ?? [],
            fields: self.fields.fields(section["fields"], of: "fields"),
            to: section["to"].map { self.draft.namesOrAny($0, of: "to") },
            reactions: self.draft.reactions(section["when"]),
            after: section.entry("after").flatMap { self.deadline($0) },
            boot: section["boot"].flatMap {
                self.draft.move($0, of: "boot", words: ["again"])
            },
            run: self.commands.run(section),
            enter: self.commands.hooks(section.entry("enter")),
            leave: self.commands.hooks(section.entry("leave")),
            isFinal: section["final"]?.boolean(of: "final", self.problems) ?? false
        )
    }

    private func deadline(_ entry: YAMLEntry) -> (delay: Duration, target: TargetDraft)? {
        guard case .mapping(let times) = entry.value.content, let time = times.first else {
            return self.problems.refuse(
                entry.value.position,
                "\"after\" needs a time and a state; write {30s: idle}"
            )
        }
        if times.count > 1 {
            self.problems.error(
                times[1].position,
                "\"after\" takes one time only, and this is a second; keep one"
            )
        }
        let target = self.draft.target(time.value, of: "after")
        let node = YAMLNode(content: .scalar(time.key), position: time.position)
        let delay = node.time(of: "after", self.problems)
        // The target is checked even if the time is wrong.
        return target.map { (delay ?? .zero, $0) }
    }
}

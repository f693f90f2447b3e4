import StateMachineProtocol

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

    private func deadline(_ entry: YAMLEntry) -> DeadlineDraft? {
        guard case .mapping(let times) = entry.value.content, let time = times.first else {
            return self.problems.refuse(
                entry.value.position,
                "\"after\" takes a time and where it leads; write {30s: idle}"
            )
        }
        if times.count > 1 {
            self.problems.error(
                times[1].position,
                "\"after\" has one time, and this is another; keep one"
            )
        }
        let target = self.draft.target(time.value, of: "after")
        let node = YAMLNode(content: .scalar(time.key), position: time.position)
        let delay = node.time(of: "after", self.problems)
        // The target is checked even if the time is wrong.
        return target.map {
            DeadlineDraft(delay: delay ?? .zero, target: $0, position: time.position)
        }
    }
}

import StateMachineProtocol

/// Makes a declaration from drafts: looks up names, finds fields' sources, checks commands.
struct DeclarationBuilder {
    private let file: FileDraft
    private let tables: DraftTables
    private let resolver: TargetResolver
    private let problems: Problems

    init(_ file: FileDraft, _ problems: Problems) {
        self.file = file
        self.tables = DraftTables(file)
        self.problems = problems
        self.resolver = TargetResolver(self.tables, problems)
    }

    /// The declaration of the file with this text; nil if anything is wrong.
    func declaration(of text: String) -> Declaration? {
        self.tables.check(self.problems)
        if case .target(let boot)? = self.file.boot {
            // Checked even if no state uses it because each has a boot of its own.
            _ = self.tables.state(boot.state, self.problems)
        }
        let always = self.tables.states(self.file.always, self.problems)
        let usual = self.file.to.map { self.names($0) }
        let groupReactions = self.groupReactions()
        let states = self.tables.states.indices.map { number in
            self.state(number, always: always, usual: usual, groupReactions[number])
        }
        let start = self.file.start.flatMap { self.resolver.target($0) }
        let lost = self.file.lost.flatMap { self.resolver.target($0) }
        guard !self.problems.hasErrors, let start else { return nil }
        return Declaration(
            self.file,
            text: text,
            states: states,
            groups: self.file.groups.map {
                Declaration.Group(name: $0.name.value, members: self.tables.members($0))
            },
            start: start,
            lost: lost
        )
    }

    private func names(_ names: NamesDraft) -> [Int] {
        switch names {
        case .any: Array(self.tables.states.indices)
        case .listed(let names): self.tables.states(names, self.problems)
        }
    }

    /// Each state's reactions from its groups; for an event, the first group's counts.
    private func groupReactions() -> [[ReactionDraft]] {
        var reactions = [[ReactionDraft]](repeating: [], count: self.tables.states.count)
        for group in self.tables.groups {
            // Even a group without members may name something that does not exist.
            for reaction in group.reactions {
                _ = self.tables.event(reaction.event, self.problems)
                guard case .target(let target) = reaction.move else { continue }
                _ = self.tables.state(target.state, self.problems)
            }
            for member in self.tables.members(group) { reactions[member] += group.reactions }
        }
        return reactions
    }

    private func state(
        _ number: Int,
        always: [Int],
        usual: [Int]?,
        _ shared: [ReactionDraft]
    ) -> DeclaredCase {
        let draft = self.tables.states[number]
        let target = { (target: TargetDraft) in self.resolver.target(target, left: number) }
        let next = draft.to.map { self.names($0) } ?? usual ?? Array(self.tables.states.indices)
        for command in draft.commands { self.check(command, in: draft) }
        return DeclaredCase(
            name: draft.name.value,
            about: draft.about,
            oldNames: draft.oldNames.map(\.value),
            fields: draft.fields,
            successors: Set(next + always).sorted(),
            reactions: self.reactions(number, draft.reactions + shared),
            after: draft.after.flatMap { after in
                target(after.target).map { DeclaredCase.Deadline(delay: after.delay, target: $0) }
            },
            boot: (draft.boot ?? self.file.boot).flatMap { self.target($0, of: number) },
            run: draft.run.flatMap { self.run($0, of: number) },
            enter: draft.enter.map(\.value),
            leave: draft.leave.map(\.value),
            isFinal: draft.isFinal,
            mark: draft.mark
        )
    }

    /// A target, or `again`.
    private func target(_ move: MoveDraft, of number: Int) -> DeclaredTarget? {
        switch move {
        case .target(let target): self.resolver.target(target, left: number)
        case .word(_, let position): self.resolver.again(number, at: position, event: nil)
        }
    }

    private func run(_ draft: RunDraft, of number: Int) -> DeclaredCase.Run? {
        let target = { (target: TargetDraft) in self.resolver.target(target, left: number) }
        let interrupted = draft.interrupted.flatMap { move -> DeclaredCase.Interruption? in
            switch move {
            case .word: .again
            case .target(let draft): target(draft).map { .enter($0) }
            }
        }
        let (done, failed) = (draft.done.flatMap(target), draft.failed.flatMap(target))
        let exits = draft.exits.compactMap { exit in target(exit.target).map { (exit.code, $0) } }
        return draft.command.map {
            DeclaredCase.Run(
                command: $0.value,
                done: done,
                exits: Dictionary(exits) { first, _ in first },
                failed: failed,
                interrupted: interrupted,
                restarts: draft.restarts
            )
        }
    }

    /// The reactions by event; the first one listed for an event counts.
    private func reactions(
        _ number: Int,
        _ drafts: [ReactionDraft]
    ) -> [Int: DeclaredCase.Reaction] {
        var reactions: [Int: DeclaredCase.Reaction] = [:]
        var seen: Set<Int> = []
        for draft in drafts {
            guard let event = self.tables.event(draft.event, self.problems) else {
                self.lookAt(draft.move, in: number)
                continue
            }
            guard seen.insert(event).inserted else { continue }
            reactions[event] = self.reaction(draft.move, to: event, in: number)
        }
        return reactions
    }

    /// Checks a move whose event does not exist, and which might provide fields that seem missing.
    private func lookAt(_ move: MoveDraft, in number: Int) {
        guard case .target(var target) = move else { return }
        target.isWhole = false
        _ = self.resolver.target(target, left: number)
    }

    private func reaction(
        _ move: MoveDraft,
        to event: Int,
        in number: Int
    ) -> DeclaredCase.Reaction? {
        switch move {
        case .word("stay", _): return .stay
        case .word("ignore", _): return .ignore
        case .word(_, let position):
            return .again(self.resolver.again(number, at: position, event: event))
        case .target(let target):
            return self.resolver.target(target, left: number, event: event).map { .enter($0) }
        }
    }

    private func check(_ command: Located<DeclaredCommand>, in state: StateDraft) {
        for name in Set(command.value.words.flatMap(\.fields)).sorted() {
            guard let field = state.fields.first(where: { $0.name == name }) else {
                guard !self.problems.isDoubtful(field: name) else { continue }
                let known = state.fields.map(\.name)
                self.problems.error(
                    command.position,
                    "\(state.name.value.quoted) has no field \(name.quoted) for {\(name)}"
                        + (known.isEmpty
                            ? "; it has none" : self.problems.suggestion(for: name, among: known))
                )
                continue
            }
            if !field.type.isScalar {
                self.problems.error(
                    command.position,
                    "{\(name)} is \(field.typeName), but an argument can hold only text, a number or a boolean"
                )
            } else if field.isOptional {
                self.problems.error(
                    command.position,
                    "{\(name)} may be absent; give the field a default instead of optional"
                )
            }
        }
    }
}

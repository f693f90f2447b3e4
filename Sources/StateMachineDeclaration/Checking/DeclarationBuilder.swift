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
        // Checked even if no state uses it because each has a boot of its own.
        self.checkNames(self.file.boot ?? [], in: .boot)
        let always = self.tables.states(self.file.always, self.problems)
        let usual = self.file.to.map { self.names($0) }
        let groupReactions = self.groupReactions()
        let groupTimes = self.groupTimes()
        let states = self.tables.states.indices.map { number in
            self.state(
                number,
                always: always,
                usual: usual,
                groupReactions[number],
                groupTimes[number]
            )
        }
        let start = self.file.start.flatMap { self.resolver.target($0) }
        let lost = self.branches(self.file.lost, in: .lost, of: nil) ?? []
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
                if reaction.isOfLink {
                    _ = self.tables.linkCondition(reaction.event, self.problems)
                } else {
                    _ = self.tables.event(reaction.event, self.problems)
                }
                self.checkNames(reaction.cases, in: .when)
            }
            for member in self.tables.members(group) { reactions[member] += group.reactions }
        }
        return reactions
    }

    /// Each state's times from its groups, with the groups' names.
    private func groupTimes() -> [[(group: String, time: DeadlineDraft)]] {
        var times = [[(group: String, time: DeadlineDraft)]](
            repeating: [],
            count: self.tables.states.count
        )
        for group in self.tables.groups where !group.after.isEmpty {
            for time in group.after { self.checkNames(time.cases, in: .after) }
            for member in self.tables.members(group) {
                times[member] += group.after.map { (group.name.value, $0) }
            }
        }
        return times
    }

    /// A time of a state, or of one of its groups; nil, after reporting it, if something is wrong with it.
    private func deadline(
        _ draft: DeadlineDraft,
        ofGroup group: String? = nil,
        of number: Int
    ) -> StateDeclaration.Deadline? {
        var moment = draft.moment
        if case .field(let name)? = moment {
            let found = self.resolver.names.field(name, draft.position, number, nil)
            moment = found.map { .field($0.field.name) }
            if let field = found?.field, field.type != .time, field.type != .instant {
                self.problems.error(
                    draft.position,
                    "{\(name)} is \(field.typeName) in \(self.tables.states[number].name.value.quoted), and no time; "
                        + "give it the type time, or instant"
                )
            }
        }
        let cases = self.branches(draft.cases, in: .after, of: number)
        guard let moment, let cases else { return nil }
        return StateDeclaration.Deadline(group: group, moment: moment, cases: cases)
    }

    private func state(
        _ number: Int,
        always: [Int],
        usual: [Int]?,
        _ shared: [ReactionDraft],
        _ sharedTimes: [(group: String, time: DeadlineDraft)]
    ) -> StateDeclaration {
        let draft = self.tables.states[number]
        let next = draft.to.map { self.names($0) } ?? usual ?? Array(self.tables.states.indices)
        for command in draft.commands { self.check(command, in: draft) }
        let drafts = draft.reactions + shared
        let (reactions, lookouts) = (
            self.reactions(number, drafts), self.lookouts(number, drafts)
        )
        return StateDeclaration(
            name: draft.name.value,
            about: draft.about,
            oldNames: draft.oldNames.map(\.value),
            fields: draft.fields,
            successors: Set(next + always).sorted(),
            reactions: reactions,
            lookouts: lookouts,
            requirements: draft.requirements.compactMap {
                self.tables.linkCondition($0, self.problems)
            },
            after: draft.after.compactMap { self.deadline($0, of: number) }
                + sharedTimes.compactMap {
                    self.deadline($0.time, ofGroup: $0.group, of: number)
                },
            boot: (draft.boot ?? self.file.boot)
                .flatMap { self.branches($0, in: .boot, of: number) },
            run: draft.run.flatMap { self.run($0, of: number) },
            enter: draft.enter.map(\.value),
            leave: draft.leave.map(\.value),
            isFinal: draft.isFinal,
            mark: draft.mark,
            asksForRemaining: (reactions.values.joined() + lookouts.flatMap(\.cases)).contains {
                $0.outcome.target?.sources.contains { $0.contains(.remaining) } ?? false
            }
        )
    }

    private func run(_ draft: RunDraft, of number: Int) -> StateDeclaration.Run? {
        let end = { (cases: [CaseDraft]) in self.branches(cases, in: .end, of: number) }
        let interrupted = draft.interrupted.flatMap {
            self.branches($0, in: .interrupted, of: number)
        }
        let (done, failed) = (draft.done.flatMap(end), draft.failed.flatMap(end))
        let exits = draft.exits.compactMap { exit in end(exit.cases).map { (exit.code, $0) } }
        return draft.command.map {
            StateDeclaration.Run(
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
    ) -> [Int: [Branch]] {
        var reactions: [Int: [Branch]] = [:]
        var seen: Set<Int> = []
        for draft in drafts where !draft.isOfLink {
            guard let event = self.tables.event(draft.event, self.problems) else {
                self.lookAt(draft.cases, in: number)
                continue
            }
            guard seen.insert(event).inserted else { continue }
            reactions[event] = self.branches(draft.cases, in: .when, of: number, event)
        }
        return reactions
    }

    /// The most links' keys of a state, with those of its groups.
    ///
    /// 32: each is looked at whenever anything is seen of its machine.
    private static let mostLookouts = 32

    /// The reactions to what is seen of links; the first one listed for a condition counts.
    private func lookouts(
        _ number: Int,
        _ drafts: [ReactionDraft]
    ) -> [StateDeclaration.Lookout] {
        var seen: Set<LinkCondition> = []
        let lookouts = drafts.filter(\.isOfLink).compactMap { draft -> StateDeclaration.Lookout? in
            guard let condition = self.tables.linkCondition(draft.event, self.problems) else {
                self.lookAt(draft.cases, in: number)
                return nil
            }
            guard seen.insert(condition).inserted else { return nil }
            return self.branches(draft.cases, in: .link, of: number).map {
                StateDeclaration.Lookout(condition: condition, cases: $0)
            }
        }
        if seen.count > Self.mostLookouts {
            let state = self.tables.states[number].name
            self.problems.error(
                state.position,
                "\(state.value.quoted) looks for \(seen.count) things at links; at most \(Self.mostLookouts) are allowed"
            )
        }
        return lookouts
    }

    /// Checks cases whose event does not exist, and which might provide fields that seem missing.
    private func lookAt(_ cases: [CaseDraft], in number: Int) {
        for draft in cases {
            guard case .target(var target) = draft.move, !self.isKeep(target, in: .when) else {
                continue
            }
            target.isWhole = false
            _ = self.resolver.target(target, left: number)
        }
    }

    /// Reports states that cases name and that there are not.
    private func checkNames(_ cases: [CaseDraft], in place: CasePlace) {
        for draft in cases {
            guard case .target(let target) = draft.move, !self.isKeep(target, in: place) else {
                continue
            }
            _ = self.tables.state(target.state, self.problems)
        }
    }

    /// Whether a target is none, but changes fields while the stay goes on; a state of that name is meant where there is
    /// one.
    private func isKeep(_ target: TargetDraft, in place: CasePlace) -> Bool {
        target.state.value == "keep" && place.mayKeep && !self.tables.hasState("keep")
    }

    /// The cases of a place, resolved; nil, after reporting it, if something is wrong with one.
    private func branches(
        _ drafts: [CaseDraft],
        in place: CasePlace,
        of number: Int?,
        _ event: Int? = nil
    ) -> [Branch]? {
        var isCovered = false
        let branches = drafts.enumerated().compactMap { index, draft -> Branch? in
            let isLast = index == drafts.count - 1
            if isCovered, !self.problems.hasErrors {
                self.problems.warn(
                    draft.move.position,
                    "this case is never reached, since one before it always holds; remove it, or move it up"
                )
            }
            let required = self.resolver.names.conditions(
                draft.conditions,
                left: number,
                event: event
            )
            guard let outcome = self.outcome(draft.move, in: place, of: number, event, isLast),
                let required
            else { return nil }
            self.checkSight(of: required, draft, in: place)
            if isLast { self.checkLast(draft, outcome, isOnly: index == 0) }
            if required.allSatisfy(\.alwaysHolds), outcome.target?.isDoubtful != true {
                isCovered = true
            }
            return Branch(conditions: required, outcome: outcome)
        }
        return branches.count == drafts.count ? branches : nil
    }

    /// Reports links' conditions where nothing can be seen.
    private func checkSight(
        of required: [DeclaredCondition],
        _ draft: CaseDraft,
        in place: CasePlace
    ) {
        for (condition, text) in zip(required, draft.conditions) {
            guard case .isSeen = condition.test else { continue }
            switch place {
            case .interrupted:
                self.problems.error(
                    text.position,
                    "\(condition.written) cannot be asked here: the runner, which sees no other machine, decides what "
                        + "follows an interruption"
                )
            case .lost:
                self.problems.error(
                    text.position,
                    "\(condition.written) cannot be asked here: nothing is seen yet where a start leads"
                )
            case .boot:
                self.problems.warn(
                    text.position,
                    "\(condition.written) never holds here, since nothing is seen yet at the start after a boot"
                )
            case .when, .link, .after, .end: break
            }
        }
    }

    /// Reports a last case that need not hold.
    private func checkLast(_ draft: CaseDraft, _ outcome: Branch.Outcome, isOnly: Bool) {
        let remedy =
            isOnly
            ? "write a list of cases, and last where it leads otherwise"
            : "add a case behind it, for what else there is"
        if let condition = draft.conditions.first {
            self.problems.error(
                condition.position,
                "the last case must always hold, so it has no \"if\"; \(remedy)"
            )
        }
        if let step = outcome.target?.riskyStep {
            self.problems.error(
                draft.move.position,
                "\(step) may not fit its field, or have nothing to count; \(remedy)"
            )
        }
    }

    private func outcome(
        _ move: MoveDraft,
        in place: CasePlace,
        of number: Int?,
        _ event: Int?,
        _ isLast: Bool
    ) -> Branch.Outcome? {
        switch move {
        case .unread: return nil
        case .word("stay", _): return .stay
        case .word("ignore", _): return .ignore
        case .word(_, let position):
            guard place != .interrupted else { return .rerun }
            let target = number.map {
                self.resolver.again($0, at: position, event: event, isLast: isLast)
            }
            return target.map { place.mayKeep ? .again($0) : .enter($0) }
        case .refusal(let text):
            self.warnOfFields(in: text, of: number, event)
            return .refuse(text.value)
        case .target(let target) where self.isKeep(target, in: place):
            return number.flatMap { self.kept(target, in: place, of: $0, event, isLast) }
        case .target(let target):
            if target.state.value == "keep", !self.tables.hasState("keep") {
                return self.problems.refuse(
                    target.position,
                    "\"keep\" changes fields while a stay goes on, so it may stand under \"when\" and \"after\" only"
                )
            }
            if target.state.value == "keep", place.mayKeep, !target.data.isEmpty {
                self.problems.warn(
                    target.position,
                    "\"keep\" is a state here, so this enters it; call the state otherwise if the stay is to go on"
                )
            }
            return self.resolver.target(
                target,
                left: number,
                event: event,
                isLast: isLast,
                isReaction: place.isReaction
            ).map { .enter($0) }
        }
    }

    /// Warns of fields that a text seems to name, where it is said as it is.
    private func warnOfFields(in text: Located<String>, of number: Int?, _ event: Int?) {
        let fields =
            (number.map { self.tables.states[$0].fields } ?? [])
            + (event.map { self.tables.events[$0].fields } ?? [])
        guard let named = fields.first(where: { text.value.contains("{\($0.name)}") }) else {
            return
        }
        self.problems.warn(
            text.position,
            "{\(named.name)} is said as it is written: the text of \"refuse\" is always the same"
        )
    }

    /// What a `keep` changes of a state: what it names, and the event's fields of those names.
    private func kept(
        _ draft: TargetDraft,
        in place: CasePlace,
        of number: Int,
        _ event: Int?,
        _ isLast: Bool
    ) -> Branch.Outcome? {
        let state = self.tables.states[number]
        let taken = event.map { self.tables.events[$0].fields.map(\.name) } ?? []
        guard
            !draft.isWhole || !draft.data.isEmpty
                || state.fields.contains(where: { taken.contains($0.name) })
        else {
            return self.problems.refuse(
                draft.position,
                "\"keep\" changes nothing here; name a field, like keep tries+=1, or write ignore"
            )
        }
        let own = TargetDraft(
            state: Located(state.name.value, draft.position),
            data: draft.data,
            isWhole: draft.isWhole
        )
        return self.resolver.target(
            own,
            left: number,
            event: event,
            isLast: isLast,
            isReaction: place.isReaction
        ).map { .keep($0) }
    }

    private func check(_ command: Located<DeclaredCommand>, in state: StateDraft) {
        for name in Set(command.value.words.flatMap(\.fields)).sorted() {
            guard let field = state.fields.first(where: { $0.name == name }) else {
                guard !self.problems.isUnread(field: name) else { continue }
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

import StateMachineCore
import StateMachineProtocol

/// Warns about what a file without errors may not have meant.
struct Warnings {
    private let declaration: Declaration
    private let file: FileDraft
    private let problems: Problems
    private let edges: [[Edge]]

    init(_ declaration: Declaration, _ file: FileDraft, _ problems: Problems) {
        self.declaration = declaration
        self.file = file
        self.problems = problems
        self.edges = declaration.states.indices.map { declaration.edges(from: $0) }
    }

    func tell(isStrict: Bool) {
        if isStrict { for state in self.file.states { self.warnOfOptions(state) } }
        self.warnOfUnreached()
        for (number, state) in self.declaration.states.enumerated() {
            self.warnOfDeadEnd(number, state)
            self.warnOfHanging(number, state)
            self.warnOfEnding(number, state)
            self.warnOfLongRetries(number, state)
            self.warnOfReboot(number, state)
        }
        self.warnOfUnusedEvents()
        self.warnOfUnusedLinks()
        if let circle = MoveCircle(self.declaration, self.edges).states {
            let names = circle.map { self.declaration.states[$0].name }
            let what =
                names.count == 1
                ? "\(names[0]) is entered again and again"
                : "\(names.joined(separator: ", ")) lead to each other"
            self.problems.warn(
                self.position(circle[0]),
                "\(what) too fast: automatic transitions will be suspended; use a longer time in one of these "
                    + "states, or let an event cause one of the transitions"
            )
        }
    }

    /// Warns about values from outside that a program may take for an option.
    private func warnOfOptions(_ state: StateDraft) {
        for command in state.commands {
            for word in command.value.words.dropFirst() {
                if word.pieces == [.text("--")] { break }
                guard case .field(let name)? = word.pieces.first,
                    let field = state.fields.first(where: { $0.name == name }),
                    field.mayLookLikeAnOption
                else { continue }
                self.problems.warn(
                    command.position,
                    "\(word.written) may begin with - and be taken for an option; write -- before it"
                )
            }
        }
    }

    private func position(_ number: Int) -> FilePosition { self.file.states[number].name.position }

    /// Warns of states unreachable from where the machine begins, or where a start may put it.
    private func warnOfUnreached() {
        var reached = [Bool](repeating: false, count: self.edges.count)
        var next = [self.declaration.initial.number]
        next += self.declaration.lost.compactMap(\.outcome.target?.state)
        while let number = next.popLast() {
            guard !reached[number] else { continue }
            reached[number] = true
            for edge in self.edges[number] where !reached[edge.to] { next.append(edge.to) }
        }
        for (number, state) in self.declaration.states.enumerated()
        where !reached[number] {
            self.problems.warn(
                self.position(number),
                "nothing leads to \(state.name.quoted); remove it, or let a state lead to it"
            )
        }
    }

    private func warnOfDeadEnd(_ number: Int, _ state: StateDeclaration) {
        let hasOwnBoot = self.file.states[number].boot != nil
        let leadsOut = self.edges[number].contains { edge in
            edge.to != number && (edge.kind != .boot || hasOwnBoot)
        }
        guard !leadsOut, !state.isFinal else { return }
        self.problems.warn(
            self.position(number),
            "nothing leads out of \(state.name.quoted); write final: true if that is intended"
        )
    }

    /// Warns about a state that only the end of its run leads out of, if the run has no timeout.
    private func warnOfHanging(_ number: Int, _ state: StateDeclaration) {
        guard let run = state.run, run.command.timeout == nil,
            let draft = self.file.states[number].run?.command
        else { return }
        var waits = false
        for edge in self.edges[number] where edge.to != number {
            switch edge.kind {
            case .done, .exit, .failed: waits = true
            case .event, .link, .after, .set: return
            case .interrupted, .boot: break
            }
        }
        guard waits else { return }
        self.problems.warn(
            draft.position,
            "the run of \(state.name.quoted) may hang for ever, and nothing else leads out of the state; give it a timeout"
        )
    }

    /// Warns about a state that continues with nothing running when its run has ended well: a browser that somebody
    /// closes leaves a blank screen.
    private func warnOfEnding(_ number: Int, _ state: StateDeclaration) {
        guard let run = state.run, run.done == nil, !run.restarts, !state.isFinal,
            let draft = self.file.states[number].run?.command
        else { return }
        // What time ends may wait for it, unless an event has the time begin again.
        guard
            state.after.isEmpty
                || state.reactions.values.joined().contains(where: { $0.outcome == .stay })
        else { return }
        self.problems.warn(
            draft.position,
            "when the run of \(state.name.quoted) ends with exit 0, the state continues and nothing runs; write "
                + "\"done\" to say where that leads, or restart: always to run it again"
        )
    }

    private func warnOfLongRetries(_ number: Int, _ state: StateDeclaration) {
        let delays = state.after.compactMap { time -> Duration? in
            if case .after(let delay) = time.moment, time.group == nil { delay } else { nil }
        }
        guard let first = delays.min(), let draft = self.file.states[number].run?.command,
            let total = state.run?.command.retry?.total, total >= first
        else { return }
        self.problems.warn(
            draft.position,
            "the retries of \(state.name.quoted) take \(total.timeText), and after "
                + "\(first.timeText) the state is left; shorten them, or lengthen \"after\""
        )
    }

    private func warnOfReboot(_ number: Int, _ state: StateDeclaration) {
        guard let first = self.file.states[number].enter.first, state.boot == nil else { return }
        self.problems.warn(
            first.position,
            "after a reboot \(state.name.quoted) continues without running its \"enter\" again; write \"boot\" "
                + "to say where a reboot leads"
        )
    }

    private func warnOfUnusedLinks() {
        let used = Set(self.declaration.linkConditions.map(\.link))
        for draft in self.file.links where !used.contains(draft.link.name) {
            self.problems.warn(
                draft.position,
                "the link \(draft.link.name.quoted) is asked for nothing; remove it, or ask for a state of it"
            )
        }
    }

    private func warnOfUnusedEvents() {
        var used: Set<String> = []
        for state in self.file.states { used.formUnion(state.reactions.map(\.event.value)) }
        for group in self.file.groups { used.formUnion(group.reactions.map(\.event.value)) }
        for event in self.file.events where !used.contains(event.name.value) {
            self.problems.warn(
                event.name.position,
                "the event \(event.name.value.quoted) is not handled by any state; remove it, or handle it with \"when\""
            )
        }
    }
}

extension Field {
    /// Whether the text of a value may begin with a hyphen.
    fileprivate var mayLookLikeAnOption: Bool {
        guard self.values.isEmpty else {
            return self.values.contains { $0.plainText.utf8.first == UInt8(ascii: "-") }
        }
        switch self.type {
        case .boolean, .time, .instant: return false
        case .integer, .number: return self.bounds.least?.isNegative ?? true
        case .string, .array, .object: return true
        }
    }
}

import StateMachineProtocol

// Reads commands: a string, a list of words, or settings.
extension DraftReader {
    /// Characters that mean something to a shell.
    private static let shellCharacters = Set("'\"`$|&;<>*?".utf8)

    /// The timeout of a hook that has none given.
    private static let hookTimeout = Duration.seconds(60)

    /// The command of a stay and where its ends lead.
    func run(_ state: Section) -> RunDraft? {
        guard let entry = state.entry("run") else {
            for key in ["done", "exit", "failed"] {
                guard let entry = state.entry(key) else { continue }
                self.problems.error(
                    entry.position,
                    "\"\(key)\" says where the end of \"run\" leads, but the state has no \"run\"; add it, or remove this"
                )
            }
            return nil
        }
        let cases = { (key: String) in state[key].map { self.cases($0, of: key, in: .end) } }
        let (done, failed) = (cases("done"), cases("failed"))
        let exits = self.exits(state["exit"])
        let (command, section) = self.command(
            entry.value,
            .run,
            "run",
            at: entry.position,
            timeout: nil
        )
        let interrupted = section?["interrupted"]
            .map { self.cases($0, of: "interrupted", in: .interrupted) }
        let restarts = section.map { self.restarts($0, in: state) } ?? false
        return RunDraft(
            command: restarts ? command.map { self.restarting($0) } : command,
            done: done,
            exits: exits,
            failed: failed,
            interrupted: interrupted,
            restarts: restarts
        )
    }

    /// Whether the run is begun again whenever it ends; then nothing may be said of its ends.
    private func restarts(_ run: Section, in state: Section) -> Bool {
        guard let node = run["restart"] else { return false }
        self.problems.booleans.note(node)
        guard node.text == "always" else {
            if node.text != "no" {
                self.problems.error(node.position, "\"restart\" must be no or always")
            }
            return false
        }
        for entry in ["done", "exit", "failed"].compactMap({ state.entry($0) }) {
            self.problems.error(
                entry.position,
                "the run is begun again whenever it ends, so nothing can lead to \(entry.key.text.quoted); remove it, or "
                    + "\"restart: always\""
            )
        }
        if case .mapping(let retry)? = run["retry"]?.content,
            let times = retry.first(where: { $0.key.text == "times" })
        {
            self.problems.error(
                times.position,
                "the run is begun again whenever it ends, for ever; remove \"times\", or \"restart: always\""
            )
        }
        return true
    }

    private func restarting(_ command: Located<DeclaredCommand>) -> Located<DeclaredCommand> {
        var restarting = command.value
        restarting.retry = (restarting.retry ?? Retry()).endless
        return Located(restarting, command.position)
    }

    /// What is run on entering or leaving: a command, settings, or a list of these.
    func hooks(_ entry: YAMLEntry?) -> [Located<DeclaredCommand>] {
        guard let entry else { return [] }
        guard case .sequence(let elements) = entry.value.content else {
            return [self.hook(entry.value, entry.key.text)].compactMap(\.self)
        }
        guard elements.count < 2 || !elements.allSatisfy(\.isScalar) else {
            self.refuseWords(elements, at: entry.value.position, entry.key.text)
            return []
        }
        return elements.compactMap { self.hook($0, entry.key.text) }
    }

    /// Refuses a list of mere words: under "run" it is one command, and here it would be several.
    private func refuseWords(_ elements: [YAMLNode], at position: FilePosition, _ key: String) {
        let words = elements.compactMap { $0.text?.excerpt() }
        let commands = words.map { "[\($0.splitAtWhiteSpace.joined(separator: ", "))]" }
        self.problems.error(
            position,
            "\(key.quoted) is a list of words, which may be one command or \(words.count); write "
                + "[[\(words.joined(separator: ", "))]] for one, or [\(commands.joined(separator: ", "))] for "
                + "\(words.count)"
        )
    }

    private func hook(_ node: YAMLNode, _ key: String) -> Located<DeclaredCommand>? {
        self.command(node, .hook, key, at: node.position, timeout: Self.hookTimeout).command
    }

    /// A command, and its map if it is one.
    private func command(
        _ node: YAMLNode,
        _ table: KeyTable,
        _ key: String,
        at position: FilePosition,
        timeout: Duration?
    ) -> (command: Located<DeclaredCommand>?, section: Section?) {
        var settings = CommandSettings()
        var written = node
        var section: Section?
        if case .mapping = node.content {
            section = Section(node, table, self.problems)
            guard let section, let command = section["command"] else { return (nil, section) }
            settings = CommandSettings(section)
            written = command
        }
        guard let words = self.words(written, key) else { return (nil, section) }
        let command = settings.command(words, defaults: self.defaults, timeout: timeout)
        return (Located(command, position), section)
    }

    private func exits(_ node: YAMLNode?) -> [(code: Int, cases: [CaseDraft])] {
        (node?.entries(of: "exit", self.problems) ?? []).compactMap { entry in
            guard let code = Int(entry.key.text), (0...255).contains(code),
                "\(code)" == entry.key.text
            else {
                return self.problems.refuse(
                    entry.position,
                    "\(entry.key.text.quoted) is not an exit code; write a number from 1 to 255"
                )
            }
            guard code != 0 else {
                return self.problems.refuse(
                    entry.position,
                    "\"exit\" cannot contain 0; use \"done\" for it"
                )
            }
            return (code, self.cases(entry.value, of: "exit", in: .end))
        }
    }

    private func words(_ node: YAMLNode, _ key: String) -> [CommandWord]? {
        let texts: [Located<String>]
        switch node.content {
        case .scalar(let scalar):
            let special = scalar.text.utf8.first { Self.shellCharacters.contains($0) }
            if let special {
                return self.problems.refuse(
                    node.position,
                    "commands are run without a shell, so \(Character(Unicode.Scalar(special))) means nothing; write a list "
                        + "of words"
                )
            }
            texts = scalar.text.splitAtWhiteSpace.map { Located($0, node.position) }
        case .sequence(let elements):
            texts = elements.texts(self.problems) {
                "an argument of a command must be text, not \($0)"
            }
            guard texts.count == elements.count else { return nil }
        case .mapping:
            return self.problems.refuse(
                node.position,
                "a command must be a list of words, or a string"
            )
        }
        guard let program = texts.first, !program.value.isEmpty else {
            return self.problems.refuse(
                node.position,
                "\(key.quoted) must be a command; name a program, like /usr/bin/true"
            )
        }
        return texts.enumerated().compactMap { index, text in
            guard let word = CommandWord(text.value) else {
                return self.problems.refuse(
                    text.position,
                    "\(text.value.quoted): a brace begins a field, as in {name}; write {{ for a brace"
                )
            }
            guard index > 0 || word.fields.isEmpty else {
                return self.problems.refuse(
                    text.position,
                    "\(text.value.quoted): the program cannot come from a field; write its path"
                )
            }
            return word
        }
    }
}

extension YAMLNode {
    fileprivate var isScalar: Bool {
        if case .scalar = self.content { true } else { false }
    }
}

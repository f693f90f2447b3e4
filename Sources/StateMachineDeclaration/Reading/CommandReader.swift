import StateMachineProtocol

/// Reads commands: a string, a list of words, or settings.
struct CommandReader {
    /// Characters that mean something to a shell.
    private static let shellCharacters = Set("'\"`$|&;<>*?".utf8)

    /// The timeout of a hook that has none given.
    private static let hookTimeout = Duration.seconds(60)

    let draft: DraftReader
    let defaults: CommandSettings
    /// The places of real booleans, as opposed to text that looks like one.
    let booleans: BooleanPlaces

    private var problems: Problems { self.draft.problems }

    /// The command of a stay and where its ends lead.
    func run(_ state: Section) -> RunDraft? {
        guard let entry = state.entry("run") else {
            for key in ["done", "exit", "failed"] {
                guard let entry = state.entry(key) else { continue }
                self.problems.error(
                    entry.position,
                    "\"\(key)\" says where a \"run\" leads, but the state has none"
                )
            }
            return nil
        }
        let target = { (key: String) in state[key].flatMap { self.draft.target($0, of: key) } }
        let (done, failed) = (target("done"), target("failed"))
        let exits = self.exits(state["exit"])
        let (command, interrupted) = self.command(entry)
        return RunDraft(
            command: command,
            done: done,
            exits: exits,
            failed: failed,
            interrupted: interrupted
        )
    }

    /// What is run on entering or leaving: a command, settings, or a list of these.
    func hooks(_ entry: YAMLEntry?) -> [CommandDraft] {
        guard let entry else { return [] }
        guard case .sequence(let elements) = entry.value.content else {
            return [self.hook(entry.value, entry.key.text)].compactMap { $0 }
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

    private func hook(_ node: YAMLNode, _ key: String) -> CommandDraft? {
        var settings = CommandSettings()
        var written = node
        if case .mapping = node.content {
            guard let section = Section(node, .hook, self.problems) else { return nil }
            settings = CommandSettings(section, self.booleans)
            guard let command = section["command"] else { return nil }
            written = command
        }
        guard let words = self.words(written, key) else { return nil }
        let command = settings.command(
            words,
            defaults: self.defaults,
            timeout: Self.hookTimeout
        )
        return CommandDraft(command: command, position: node.position)
    }

    private func command(_ entry: YAMLEntry) -> (CommandDraft?, MoveDraft?) {
        var settings = CommandSettings()
        var written = entry.value
        var interrupted: MoveDraft?
        if case .mapping = entry.value.content {
            guard let section = Section(entry.value, .run, self.problems) else { return (nil, nil) }
            settings = CommandSettings(section, self.booleans)
            interrupted = section["interrupted"].flatMap {
                self.draft.move($0, of: "interrupted", words: ["again"])
            }
            guard let command = section["command"] else { return (nil, interrupted) }
            written = command
        }
        guard let words = self.words(written, "run") else { return (nil, interrupted) }
        let command = settings.command(words, defaults: self.defaults, timeout: nil)
        return (CommandDraft(command: command, position: entry.position), interrupted)
    }

    private func exits(_ node: YAMLNode?) -> [RunDraft.Exit] {
        (node?.entries(of: "exit", self.problems) ?? []).compactMap { entry in
            guard let code = Int(entry.key.text), (0...255).contains(code),
                "\(code)" == entry.key.text
            else {
                self.problems.error(
                    entry.position,
                    "\(entry.key.text.quoted) is not an exit code; write a number from 1 to 255"
                )
                return nil
            }
            guard code != 0 else {
                self.problems.error(
                    entry.position,
                    "exit 0 cannot stand in \"exit\"; use \"done\" for it"
                )
                return nil
            }
            return self.draft.target(entry.value, of: "exit").map {
                RunDraft.Exit(code: code, target: $0)
            }
        }
    }

    private func words(_ node: YAMLNode, _ key: String) -> [CommandWord]? {
        let texts: [Located<String>]
        switch node.content {
        case .scalar(let scalar):
            let special = scalar.text.utf8.first { Self.shellCharacters.contains($0) }
            if let special {
                self.problems.error(
                    node.position,
                    "commands have no shell, so \(Character(Unicode.Scalar(special))) means nothing; write a list "
                        + "of words"
                )
                return nil
            }
            texts = scalar.text.splitAtWhiteSpace.map { Located($0, node.position) }
        case .sequence(let elements):
            texts = elements.compactMap { element in
                if let text = element.text, !element.isEmpty {
                    return Located(text, element.position)
                }
                self.problems.error(element.position, "a word must be text, not \(element.kind)")
                return nil
            }
            guard texts.count == elements.count else { return nil }
        case .mapping:
            self.problems.error(node.position, "a command must be a list of words, or a string")
            return nil
        }
        guard let program = texts.first, !program.value.isEmpty else {
            self.problems.error(
                node.position,
                "\(key.quoted) must be a command; name a program, like /usr/bin/true"
            )
            return nil
        }
        return self.words(texts)
    }

    private func words(_ texts: [Located<String>]) -> [CommandWord]? {
        var words: [CommandWord] = []
        for (index, text) in texts.enumerated() {
            guard let word = CommandWord(text.value) else {
                self.problems.error(
                    text.position,
                    "\(text.value.quoted): {name} is a field; write {{ for a brace"
                )
                continue
            }
            guard index > 0 || word.fields.isEmpty else {
                self.problems.error(
                    text.position,
                    "\(text.value.quoted): which program is run cannot come from a field"
                )
                continue
            }
            words.append(word)
        }
        return words
    }
}

extension YAMLNode {
    fileprivate var isScalar: Bool {
        if case .scalar = self.content { true } else { false }
    }
}

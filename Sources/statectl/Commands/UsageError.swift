import ArgumentParser
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// What is wrong with a command line in this program's words, followed by how the command is used.
struct UsageError: Error, CustomStringConvertible {
    /// What is wrong.
    let description: String
    /// The whole output.
    let text: String

    /// Replaces the parser's complaint, and keeps the lines on the usage that follow it.
    init(_ objection: String, instead complaint: String) {
        self.description = objection
        let usage = complaint.split(separator: "\n").drop { !$0.hasPrefix("Usage: ") }
        self.text = (["Error: \(objection)"] + usage).joined(separator: "\n")
    }

    /// For a command that the parser has accepted.
    init(_ objection: String, to command: any ParsableCommand.Type) {
        self.description = objection
        let names = [Statectl.configuration, command.configuration].compactMap(\.commandName)
        let path = names.prefix(command == Statectl.self ? 1 : 2).joined(separator: " ")
        self.text = """
            Error: \(objection)
            Usage: \(Statectl.usageString(for: command))
              See '\(path) --help' for more information.
            """
    }
}

/// The word that is to be completed, as far as it is typed.
///
/// bash ends words at `=` and `:` and expects only the rest after them; other shells expect the
/// whole word.
struct PieceOfWord {
    /// The whole word up to here, put together again.
    private(set) var text: String
    /// How many bytes of a completed word precede what the shell expects.
    private var before: Int

    init(_ words: [String], at index: Int) {
        guard words.indices.contains(index) else {
            self.text = ""
            self.before = 0
            return
        }
        var start = index
        // A break joins what is on both sides of it.
        while start > 0, Self.isBreak(words[start]) || Self.isBreak(words[start - 1]) { start -= 1 }
        self.text = words[start...index].joined()
        // A break at the end is a word of its own: what follows it begins after it.
        let own = Self.isBreak(words[index]) ? "" : words[index]
        self.before = start == index ? 0 : self.text.utf8.count - own.utf8.count
    }

    private static func isBreak(_ word: String) -> Bool { word == "=" || word == ":" }

    /// The part from that byte on.
    func following(_ count: Int) -> PieceOfWord {
        var piece = self
        piece.text = String(Substring(self.text.utf8.dropFirst(count)))
        piece.before = self.before - count
        piece.head = self.before >= count ? "" : String(Substring(self.text.utf8.prefix(count)))
        return piece
    }

    /// What precedes the part, if the shell wants it repeated.
    private var head = ""

    /// What a shell is offered of a candidate; nil if the candidate does not begin as typed.
    func rest(of candidate: String) -> String? {
        guard self.before > 0 else { return self.head + candidate }
        let typed = self.text.utf8.prefix(self.before)
        guard candidate.utf8.starts(with: typed) else { return nil }
        return String(Substring(candidate.utf8.dropFirst(self.before)))
    }
}

/// Finds what the parser misunderstands, or reports in words that help nobody: names of commands,
/// options that are given twice, negative numbers.
struct WordCheck {
    /// The words of the command line, without those of a program that is to be run.
    private let words: [String]

    /// The commands with their options, as the parser describes them; read only if there is something to look for.
    private static let commands: [JSONValue] = {
        do {
            // The option with which the parser's tools ask a program for its commands.
            _ = try Statectl.parseAsRoot(["--experimental-dump-help"])
            return []
        } catch {
            let description = JSONValue(parsing: Statectl.fullMessage(for: error))
            return description?["command"]?["subcommands"]?.elements ?? []
        }
    }()

    init(_ words: [String]) {
        self.words = Array(words.prefix { $0 != "--" && $0 != "--exec" })
    }

    /// The first word that is neither an option nor an option's value, and the next such word.
    private var head: (command: String?, next: String?) {
        var rest = self.words[...]
        while let word = rest.first, word.hasPrefix("-") {
            let takesValue = ["--runtime-directory", "--machine", "-m", "--color"].contains(word)
            rest = rest.dropFirst(takesValue ? 2 : 1)
        }
        return (rest.first, rest.dropFirst().first { !$0.hasPrefix("-") })
    }

    private static let names = Statectl.configuration.subcommands
        .compactMap { $0.configuration.commandName }

    /// The commands' names in other programs.
    private static let otherNames = [
        "follow": "watch", "info": "describe", "list": "machines", "log": "history",
        "logs": "history",
        "ls": "machines", "monitor": "top", "show": "status", "stat": "status",
        "state": "get", "tail": "watch", "validate": "check",
    ]

    /// What is wrong with the name of the command; nil if nothing is.
    var objectionToCommand: String? { self.head.command.flatMap(Self.objection) }

    /// What is wrong with the topic that help is asked for; nil if nothing is.
    var objectionToTopic: String? {
        let (command, topic) = self.head
        return command == "help" ? topic.flatMap(Self.objection) : nil
    }

    private static func objection(to name: String) -> String? {
        guard !self.names.contains(name), name != "help" else { return nil }
        let nearest = self.otherNames[name] ?? NearestName.of(name, among: self.names + ["help"])
        return "there is no command \(name.quoted)"
            + (nearest.map { "; did you mean \($0)?" } ?? "; statectl --help lists them")
    }

    /// What is wrong with a command line, given as all its words, that ends with `--exec` and no
    /// command; nil if nothing is.
    static func objectionToExec(_ words: [String]) -> String? {
        guard words.last == "--exec" else { return nil }
        return "--exec takes the command to run for each line: statectl watch --exec COMMAND …"
    }

    /// What is wrong with the first option that is given twice and takes one value; nil if there is none.
    var objectionToRepetition: String? {
        // A short option may have its value attached, as in -n5.
        let given = self.words.filter { $0.hasPrefix("-") }
            .map { String($0.hasPrefix("--") ? $0.prefix { $0 != "=" } : $0.prefix(2)) }
        guard given.count > 1 else { return nil }
        for argument in self.head.command.map(self.arguments) ?? [] {
            guard argument["kind"]?.string == "option", argument["isRepeating"]?.bool == false
            else { continue }
            let names = Self.names(of: argument)
            let places = given.filter(names.contains)
            guard places.count > 1 else { continue }
            return "\(places[1]) is given twice; give it once"
        }
        return nil
    }

    /// The options that a command has, with their hyphens.
    func options(of command: String) -> [String] {
        self.arguments(of: command).flatMap(Self.names)
    }

    private func arguments(of name: String) -> [JSONValue] {
        let command = Self.commands.first { $0["commandName"]?.string == name }
        return command?["arguments"]?.elements ?? []
    }

    private static func names(of argument: JSONValue) -> [String] {
        (argument["names"]?.elements ?? []).compactMap { name in
            name["name"]?.string.map { name["kind"]?.string == "short" ? "-\($0)" : "--\($0)" }
        }
    }

    /// What is wrong with the first negative number, which is taken for an option; nil if there is none.
    var objectionToNegative: String? {
        for (index, word) in self.words.enumerated() {
            if Self.isNegative(word) {
                let option = index > 0 ? self.words[index - 1] : ""
                return option.hasPrefix("-") && !option.contains("=")
                    ? "\(option) takes no negative number, but \(word) was given"
                    : ["set", "send", "update"].contains(self.head.command)
                        ? "\(word) is taken for an option; write key=\(word), or -- before it"
                        : "\(word) is a negative number; this command takes none"
            }
            let parts = word.split(separator: "=", maxSplits: 1)
            if word.hasPrefix("--"), parts.count == 2, Self.isNegative(parts[1]),
                !Self.texts.contains(String(parts[0]))
            {
                return "\(parts[0]) takes no negative number, but \(parts[1]) was given"
            }
        }
        return nil
    }

    /// What is wrong with a time, if the parser complains about one; nil if it does not.
    static func objectionToTime(_ complaint: String) -> String? {
        let parts = complaint.split(separator: "'")
        guard parts.count == 4, parts[2] == " is invalid for ", parts[3].hasSuffix(" <time>") else {
            return nil
        }
        do {
            _ = try Seconds.duration(String(parts[1]))
            return nil
        } catch {
            return "\(parts[3].dropLast(" <time>".count)): \(error.sentence)"
        }
    }

    /// What is wrong with an option that the command does not have, if the parser complains about one; nil if it does
    /// not.
    func objectionToOption(_ complaint: String) -> String? {
        let parts = complaint.split(separator: "'")
        guard parts.first == "Unknown option ", parts.count > 1, let command = self.head.command
        else { return nil }
        let option = String(parts[1].prefix { $0 != "=" })
        if let nearest = NearestName.of(option, among: self.options(of: command)) {
            return "\(command) has no option \(option.printable); did you mean \(nearest)?"
        }
        let others = Self.names.filter { self.options(of: $0).contains(option) }
        return "\(command) has no option \(option.printable)"
            + (others.isEmpty ? "" : "; \(others.joined(separator: ", ")) have it")
    }

    /// Options that take any text.
    private static let texts = ["--cause", "--why", "--data"]

    private static func isNegative(_ word: some StringProtocol) -> Bool {
        let bytes = Array(word.utf8.prefix(2))
        return bytes.count == 2 && bytes[0] == UInt8(ascii: "-")
            && (bytes[1] == UInt8(ascii: ".") || (0x30...0x39).contains(bytes[1]))
    }
}

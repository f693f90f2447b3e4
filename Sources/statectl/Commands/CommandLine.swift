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

    init(_ objection: String, to command: any ParsableCommand.Type) {
        self.description = objection
        let names = [Statectl.configuration, command.configuration].compactMap(\.commandName)
        let path = names.prefix(command == Statectl.self ? 1 : 2).joined(separator: " ")
        let usage = Statectl.usageString(for: command).replacing("\n", with: "\n       ")
        let help = "Usage: \(usage)\n  See '\(path) --help' for more information."
        // A topic of the help cannot be used.
        self.text = "Error: \(objection)" + (usage.isEmpty ? "" : "\n\(help)")
    }
}

/// Finds what the parser misunderstands, or reports in words that help nobody: names of commands and options, options
/// that are given twice, negative numbers, times.
struct WordCheck {
    /// An option as the parser has it.
    private struct Option {
        let names: [String]
        /// What its value is called; nil if it takes none.
        let value: String?
        /// Whether it takes several values, or may be given again.
        let isList: Bool

        /// Nil for what is no option, or is not shown.
        init?(_ argument: JSONValue) {
            guard argument["kind"]?.string != "positional", argument["shouldDisplay"]?.bool == true,
                let names = argument["names"]?.elements
            else { return nil }
            self.names = names.map { name in
                (name["kind"]?.string == "long" ? "--" : "-") + (name["name"]?.string ?? "")
            }
            self.value = argument["kind"]?.string == "option" ? argument["valueName"]?.string : nil
            self.isList = argument["isRepeating"]?.bool == true
        }
    }

    /// The words of the command line, without those of a program that is to be run.
    private let words: [String]
    /// How many there are with those.
    private let count: Int
    /// The first word that is neither an option nor an option's value, and the next such word.
    private let command: String?
    private let topic: String?
    /// The options before the command.
    private let leading: [String]

    init(_ words: [String]) {
        self.words = Array(words.prefix { $0 != "--" && $0 != "--exec" })
        self.count = words.count
        var (rest, leading) = (self.words[...], [String]())
        while let word = rest.first, word.hasPrefix("-") {
            leading.append(word)
            let takesValue = ["--runtime-directory", "--machine", "-m", "--color"].contains(word)
            rest = rest.dropFirst(takesValue ? 2 : 1)
        }
        self.leading = leading
        self.command = rest.first
        self.topic = rest.dropFirst().first { !$0.hasPrefix("-") }
    }

    /// Where, among the words, those of a program begin that is to be run; nil if there is none.
    ///
    /// They come last, and are passed on byte for byte.
    var programStart: Int? {
        guard ["hold", "guard", "watch"].contains(self.command), self.words.count < self.count
        else { return nil }
        return self.words.count + 1
    }

    /// The commands by their names.
    private static let commands: [(name: String, type: any ParsableCommand.Type)] =
        Statectl.configuration.subcommands.compactMap { type in
            type.configuration.commandName.map { ($0, type) }
        }

    /// The command that is meant; the program itself if there is none of that name.
    var type: any ParsableCommand.Type {
        Self.commands.first { $0.name == self.command }?.type ?? Statectl.self
    }

    /// The commands' names in other programs.
    private static let otherNames = [
        "emit": "send", "events": "describe, which lists them, or watch", "follow": "watch",
        "info": "describe", "list": "machines",
        "lock": "hold", "log": "history", "logs": "history", "ls": "machines", "monitor": "top",
        "show": "status", "stat": "status", "state": "get", "tail": "watch", "trigger": "send",
        "validate": "check", "version": "--version",
    ]

    /// What is wrong with the name of the command; nil if nothing is.
    var objectionToCommand: String? {
        guard let objection = self.command.flatMap(Self.objection) else { return nil }
        // What follows an option that there is not was to be its value.
        let known = Self.commands.flatMap { Self.options(of: $0.name).flatMap(\.names) }
        let names = self.leading.map { word in String(word.prefix { $0 != "=" }) }
        guard let name = names.first(where: { $0.hasPrefix("--") && !known.contains($0) }) else {
            return objection
        }
        return "there is no option \(name.printable)"
            + Self.suggestion(NearestName.of(name, among: known))
    }

    /// What is wrong with the topic that help is asked for; nil if nothing is.
    var objectionToTopic: String? {
        self.command == "help" ? self.topic.flatMap(Self.objection) : nil
    }

    private static func objection(to name: String) -> String? {
        let names = self.commands.map(\.name) + ["help"]
        guard !names.contains(name) else { return nil }
        return "there is no command \(name.quoted)"
            + self.suggestion(self.otherNames[name] ?? NearestName.of(name, among: names))
    }

    private static func suggestion(_ nearest: String?) -> String {
        nearest.map { "; did you mean \($0)?" } ?? "; statectl --help lists them"
    }

    /// What is wrong with words that the parser does not take; nil if its complaint says that well enough.
    func objection(insteadOf complaint: String) -> String? {
        self.objectionToCommand ?? self.objectionToNegative ?? self.objectionToTime(complaint)
            ?? self.objectionToOption(complaint)
    }

    /// What is wrong with words, given as all of them, that the parser takes; nil if nothing is.
    func objection(beside words: [String]) -> String? {
        guard words.last == "--exec" else { return self.objectionToRepetition }
        return "--exec needs the command to run for each line: statectl watch --exec COMMAND …"
    }

    // MARK: - Options

    /// The options of a command, as the parser describes it to other tools; of that one alone, since correct command
    /// lines are looked through too.
    private static func options(of command: String) -> [Option] {
        guard let type = self.commands.first(where: { $0.name == command })?.type else { return [] }
        let arguments = JSONValue(parsing: type._dumpHelp())?["command"]?["arguments"]
        return (arguments?.elements ?? []).compactMap { Option($0) }
    }

    /// What is wrong with the first option that is given twice and takes one value; nil if there is none.
    private var objectionToRepetition: String? {
        // A short option may have its value attached, as in -n5.
        let given = self.words.filter { $0.hasPrefix("-") }
            .map { String($0.hasPrefix("--") ? $0.prefix { $0 != "=" } : $0.prefix(2)) }
        guard given.count > 1, let command else { return nil }
        for option in Self.options(of: command) where option.value != nil && !option.isList {
            let again = given.filter(option.names.contains).dropFirst()
            if let name = again.first { return "\(name) is given twice; give it once" }
        }
        return nil
    }

    /// What is wrong with the first time that is none, if the parser complains about its option.
    private func objectionToTime(_ complaint: String) -> String? {
        let times = Self.options(of: self.command ?? "").filter { $0.value == "time" }
        for (index, word) in self.words.enumerated() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, times.contains(where: { $0.names.contains(name) }),
                complaint.contains(name),
                let text = parts.dropFirst().first ?? self.words[(index + 1)...].first
            else { continue }
            do {
                _ = try Seconds.duration(text)
            } catch {
                return "\(name): \(error.sentence)"
            }
        }
        return nil
    }

    /// What is wrong with the first option that the command does not have, if the parser complains about it; where it
    /// would take the option's value for one of a state, its complaint is about that.
    private func objectionToOption(_ complaint: String) -> String? {
        guard let command else { return nil }
        let options = Self.options(of: command)
        let known = options.flatMap(\.names)
        for word in self.words where word.hasPrefix("-") && word != "-" {
            var name: String? = String(word.prefix { $0 != "=" })
            if !word.hasPrefix("--") {
                // Letters may follow one hyphen, up to the first that takes a value, which may follow it.
                let letters = word.dropFirst().map { "-\($0)" }
                let last = letters.firstIndex { letter in
                    options.contains { $0.names.contains(letter) && $0.value != nil }
                }
                name = letters[...(last ?? letters.count - 1)].first { !known.contains($0) }
            }
            let isForWords = ["set", "send", "update"].contains(command)
            guard let name, !known.contains(name),
                isForWords || ["'\(name)'", "'\(name)="].contains(where: complaint.contains)
            else { continue }
            let objection = "\(command) has no option \(name.printable)"
            if let nearest = NearestName.of(name, among: known) {
                return "\(objection); did you mean \(nearest)?"
            }
            let others = Self.commands.map(\.name).filter { other in
                Self.options(of: other).contains { $0.names.contains(name) }
            }
            return others.isEmpty || isForWords
                ? objection
                : "\(objection); \(others.joined(separator: ", ")) \(others.count == 1 ? "has" : "have") it"
        }
        return nil
    }

    /// What is wrong with the first negative number, which is taken for an option; nil if there is none.
    private var objectionToNegative: String? {
        for (index, word) in self.words.enumerated() {
            if Self.isNegative(word) {
                let option = index > 0 ? self.words[index - 1] : ""
                return option.hasPrefix("-") && !option.contains("=")
                    ? "\(option) takes no negative number, but \(word) was given"
                    : ["set", "send", "update"].contains(self.command)
                        ? "\(word) is taken for an option; write key=\(word), or -- before it"
                        : "this command takes no negative number, but \(word) was given"
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

    /// Options that take any text.
    private static let texts = ["--cause", "--why", "--data"]

    private static func isNegative(_ word: some StringProtocol) -> Bool {
        let bytes = Array(word.utf8.prefix(2))
        return bytes.count == 2 && bytes[0] == UInt8(ascii: "-")
            && (bytes[1] == UInt8(ascii: ".") || (0x30...0x39).contains(bytes[1]))
    }
}

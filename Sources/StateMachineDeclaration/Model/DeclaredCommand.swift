import Glibc
import StateMachineProtocol

/// A command with all its settings.
package struct DeclaredCommand: Hashable, Sendable {
    /// The program and its words.
    package let words: [CommandWord]
    package let user: String?
    package let group: String?
    /// How long it may take; nil for any time.
    package let timeout: Duration?
    /// From SIGTERM to SIGKILL.
    package let stop: Duration
    /// How it is retried; nil if it is not.
    package internal(set) var retry: Retry?
    package let directory: String
    /// Variables, in the order of the file.
    package let environment: [Variable]
    /// With `-` before it, it may be missing.
    package let environmentFile: String?
    /// Properties of the unit that it is run as, in the order of the file; without systemd they have no effect.
    package let properties: [UnitProperty]

    /// A variable of the environment.
    package struct Variable: Hashable, Sendable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Whether a variable may be called that.
        package static func isName(_ name: some Collection<UInt8>) -> Bool {
            name.first?.isDigit == false
                && name.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        }
    }

    /// The words with the values of a state's fields in them.
    package func words(in state: DeclaredState) -> [String] {
        self.words.map { $0.text(in: state) }
    }

    /// The words as they were written, for people.
    package var written: String { self.words.map(\.written).joined(separator: " ") }
}

/// How a command that ended badly is tried again.
package struct Retry: Hashable, Sendable {
    /// The most retries, if their number is limited.
    ///
    /// 10,000: a week of tries a minute apart; all of them are added up when the file is checked.
    static let most = 10_000

    /// The number of retries; nil for ever.
    package internal(set) var times: Int?
    /// The pause before the first retry.
    package internal(set) var wait = Duration.seconds(1)
    /// The factor from each pause to the next.
    package internal(set) var factor = 1.0
    /// The longest pause.
    package internal(set) var longest = Self.usualLongest

    static let usualLongest = Duration.seconds(300)

    /// The longest pause that a file can declare: 400 d, as any time.
    package static let longestPause = Duration.seconds(400 * 86_400)

    /// The same without an end.
    var endless: Retry {
        var retry = self
        retry.times = nil
        return retry
    }

    /// The pause before the retry of that number, from 1; nil if there is none.
    package func wait(before number: Int) -> Duration? {
        guard number <= self.times ?? .max else { return nil }
        let wait = Double(self.wait.wholeMilliseconds) * pow(self.factor, Double(number - 1))
        let longest = Double(self.longest.wholeMilliseconds)
        return .milliseconds(Int64(min(wait, longest).rounded()))
    }

    /// All pauses together; nil if it is tried for ever.
    package var total: Duration? {
        guard let times = self.times else { return nil }
        var total = Duration.zero
        for number in 1...times {
            guard let wait = self.wait(before: number) else { break }
            // From here on all waits are the same.
            if self.factor == 1 || wait >= self.longest {
                return total + wait * (times - number + 1)
            }
            total += wait
        }
        return total
    }
}

/// A word of a command, with fields of the state in it.
package struct CommandWord: Hashable, Sendable {
    /// A part of a word.
    package enum Piece: Hashable, Sendable {
        case text(String)
        /// A field, replaced by its value.
        case field(String)
    }

    package let pieces: [Piece]

    /// The fields that it names.
    package var fields: [String] {
        self.pieces.compactMap { piece in
            guard case .field(let name) = piece else { return nil }
            return name
        }
    }

    /// Reads `{name}` as a field and `{{` as a brace; nil if a brace begins something else.
    init?(_ text: String) {
        var pieces: [Piece] = []
        var plain = ""
        var rest = Substring(text)
        while let brace = rest.firstIndex(of: "{") {
            plain += rest[..<brace]
            rest = rest[rest.index(after: brace)...]
            if rest.first == "{" {
                plain += "{"
                rest = rest.dropFirst()
                continue
            }
            guard let end = rest.firstIndex(of: "}") else { return nil }
            let name = String(rest[..<end])
            guard NameRule.objection(to: name) == nil else { return nil }
            if !plain.isEmpty { pieces.append(.text(plain)) }
            plain = ""
            pieces.append(.field(name))
            rest = rest[rest.index(after: end)...]
        }
        plain += rest
        if !plain.isEmpty || pieces.isEmpty { pieces.append(.text(plain)) }
        self.pieces = pieces
    }

    /// The word with the values of a state's fields in it; it stays one word whatever they are.
    ///
    /// A program's argument would end at a byte 0, so U+0000 becomes U+FFFD.
    package func text(in state: DeclaredState) -> String {
        self.pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .field(let name): state[name]?.plainText.replacing("\0", with: "\u{FFFD}") ?? ""
            }
        }
        .joined()
    }

    /// The word as it was written.
    package var written: String {
        self.pieces.map { piece in
            switch piece {
            case .text(let text): text.replacing("{", with: "{{")
            case .field(let name): "{\(name)}"
            }
        }
        .joined()
    }
}

/// A property of the unit that a command is run as, as a unit file has it; systemd judges it when the command is run.
package struct UnitProperty: Hashable, Sendable {
    /// As before `=` in a unit file.
    package let name: String
    /// As after `=` in a unit file.
    package let value: String

    /// The names that are not for the file to set, and the keys that say the same; nil where none does.
    private static let own: [String: String?] = [
        "ExecStart": "command", "User": "user", "Group": "group", "RuntimeMaxSec": "timeout",
        "TimeoutStopSec": "stop", "TimeoutSec": "stop", "Restart": "retry", "RestartSec": "retry",
        "WorkingDirectory": "directory", "Environment": "environment",
        "EnvironmentFile": "environment-file", "Type": nil, "RemainAfterExit": nil,
        "StandardInput": nil, "StandardInputData": nil, "StandardInputText": nil,
    ]

    /// The property of an entry of a map; nil, after reporting it, if it is none.
    static func of(_ entry: YAMLEntry, _ problems: Problems) -> UnitProperty? {
        let name = entry.key.text
        guard name.utf8.allSatisfy(\.isLetterOrDigit), !name.isEmpty else {
            return problems.refuse(
                entry.position,
                "\(name.quoted) is not the name of a property; write one as in a unit file, like MemoryMax"
            )
        }
        if let key = self.own[name] {
            let remedy = key.map { "write \($0.quoted) in the command instead" } ?? "leave it out"
            return problems.refuse(entry.position, "\(name.quoted) is set by the runner; \(remedy)")
        }
        guard let value = self.value(entry.value) else {
            return problems.refuse(
                entry.value.position,
                "write the value of \(name) on one line, or a list of such values, as in a unit file"
            )
        }
        return UnitProperty(name: name, value: value)
    }

    private static func value(_ node: YAMLNode) -> String? {
        let text: String
        switch node.content {
        case .scalar(let scalar): text = scalar.text
        case .sequence(let elements):
            let texts = elements.compactMap(\.text)
            guard texts.count == elements.count else { return nil }
            text = texts.map(Self.word).joined(separator: " ")
        case .mapping: return nil
        }
        return text.utf8.contains { $0 < 0x20 || $0 == 0x7f } ? nil : text
    }

    /// One of several words, in quotes where it would be several itself.
    private static func word(_ text: String) -> String {
        let special = Set(" \t'\"\\".utf8)
        guard text.isEmpty || text.utf8.contains(where: special.contains) else { return text }
        let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"\(String(escaped))\""
    }
}

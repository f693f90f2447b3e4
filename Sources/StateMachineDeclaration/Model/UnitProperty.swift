import StateMachineProtocol

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

    /// The properties in a map; those that are none are problems.
    init?(_ entry: YAMLEntry, _ problems: Problems) {
        let name = entry.key.text
        guard name.utf8.allSatisfy(Self.isPlain), !name.isEmpty else {
            problems.error(
                entry.position,
                "\(name.quoted) is not the name of a property; write one as in a unit file, like MemoryMax"
            )
            return nil
        }
        if let key = Self.own[name] {
            let remedy = key.map { "write \($0.quoted) into the command itself" }
            problems.error(
                entry.position,
                "\(name.quoted) is set for each command; \(remedy ?? "leave it out")"
            )
            return nil
        }
        guard let value = Self.value(entry.value) else {
            problems.error(
                entry.value.position,
                "\(name) must be text on one line, or a list of texts, as in a unit file"
            )
            return nil
        }
        self.name = name
        self.value = value
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
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

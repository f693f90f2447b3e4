import StateMachineProtocol

/// A part of a YAML file: text, a list or a map, with its place.
///
/// Every scalar is text; its meaning depends on the key that it is given for.
struct YAMLNode: Sendable {
    enum Content: Sendable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        case mapping([YAMLEntry])
    }

    let content: Content
    let position: FilePosition

    /// The text, if this is a scalar.
    var text: String? {
        guard case .scalar(let scalar) = self.content else { return nil }
        return scalar.text
    }

    /// Whether nothing is written, as after `touch:`.
    var isEmpty: Bool {
        guard case .scalar(let scalar) = self.content else { return false }
        return scalar.isPlain && scalar.text.isEmpty
    }

    /// What it is, to go after "not".
    var kind: String {
        switch self.content {
        case .scalar: self.isEmpty ? "nothing" : "text"
        case .sequence: "a list"
        // The quotes are missing around the name of a field.
        case .mapping(let entries) where entries.count == 1 && entries[0].value.isEmpty:
            "a map; put quotes around {\(entries[0].key.text.excerpt())}"
        case .mapping: "a map"
        }
    }
}

/// A text of a YAML file.
struct YAMLScalar: Sendable {
    let text: String
    /// Whether it is written without quotes.
    let isPlain: Bool
}

/// A key of a map and its value.
struct YAMLEntry: Sendable {
    let key: YAMLScalar
    let position: FilePosition
    let value: YAMLNode
}

extension YAMLNode {
    /// The text; nil, after reporting it, if it is a list, a map or nothing.
    func text(of key: String, _ problems: Problems) -> Located<String>? {
        guard let text = self.text, !self.isEmpty else {
            return problems.refuse(self.position, "\(key.quoted) must be text, not \(self.kind)")
        }
        return Located(text, self.position)
    }

    /// `true` or `false`; anything else is reported.
    func boolean(of key: String, _ problems: Problems) -> Bool? {
        problems.booleans.note(self)
        switch self.text {
        case "true": return true
        case "false": return false
        case nil, .some:
            return problems.refuse(self.position, "\(key.quoted) must be true or false")
        }
    }

    func integer(of key: String, in range: ClosedRange<Int>, _ problems: Problems) -> Int? {
        guard let text = self.text, let value = Int(text), range.contains(value) else {
            return problems.refuse(
                self.position,
                "\(key.quoted) must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return value
    }

    func time(of key: String, _ problems: Problems) -> Duration? {
        guard let text = self.text, !self.isEmpty else {
            return problems.refuse(
                self.position,
                "\(key.quoted) must be a time, like 30s, not \(self.kind)"
            )
        }
        do {
            return try TimeText.duration(text)
        } catch {
            return problems.refuse(self.position, error.sentence)
        }
    }

    /// `mayBeMissing`: `-` before it may say that nothing need be there.
    func path(of key: String, _ problems: Problems, mayBeMissing: Bool = false) -> String? {
        guard let text = self.text(of: key, problems) else { return nil }
        let path =
            mayBeMissing && text.value.hasPrefix("-") ? text.value.dropFirst() : text.value[...]
        guard path.utf8.first == UInt8(ascii: "/") else {
            let other = mayBeMissing ? ", or with -/ if the file may be missing" : ""
            return problems.refuse(
                self.position,
                "\(key.quoted) must be a path that begins with /\(other)"
            )
        }
        return text.value
    }

    /// The entries of a map whose keys the file defines; nothing counts as no entries.
    func entries(of key: String, _ problems: Problems) -> [YAMLEntry] {
        switch self.content {
        case .mapping(let entries): return entries
        case .scalar where self.isEmpty: return []
        case .scalar, .sequence:
            problems.error(self.position, "\(key.quoted) must be a map, not \(self.kind)")
            return []
        }
    }
}

extension [YAMLNode] {
    /// The texts of a list; `sentence` reports what is none, by its kind.
    func texts(_ problems: Problems, _ sentence: (String) -> String) -> [Located<String>] {
        self.compactMap { node in
            guard let text = node.text, !node.isEmpty else {
                return problems.refuse(node.position, sentence(node.kind))
            }
            return Located(text, node.position)
        }
    }
}

/// The positions of values that are declared as booleans.
///
/// A class, as it is filled wherever a boolean is read; it is not used outside one reading.
final class BooleanPositions {
    private var positions: Set<FilePosition> = []

    func note(_ node: YAMLNode) { self.positions.insert(node.position) }

    /// Warns about every unquoted word that is a boolean in YAML 1.1 and text here.
    func warn(of root: YAMLNode, _ problems: Problems) {
        switch root.content {
        case .scalar(let scalar): self.warn(of: scalar, root.position, problems)
        case .sequence(let elements):
            for element in elements { self.warn(of: element, problems) }
        case .mapping(let entries):
            for entry in entries {
                self.warn(of: entry.key, entry.position, problems)
                self.warn(of: entry.value, problems)
            }
        }
    }

    private func warn(of scalar: YAMLScalar, _ position: FilePosition, _ problems: Problems) {
        guard scalar.isPlain, scalar.text.utf8.count <= 5,
            let first = scalar.text.utf8.first, Self.firstLetters.contains(first | 0x20),
            Self.words.contains(scalar.text.lowercased()), !self.positions.contains(position)
        else { return }
        problems.warn(
            position,
            "\(scalar.text) is text here, but YAML 1.1 tools read it as a boolean; "
                + "write \"\(scalar.text)\""
        )
    }

    private static let firstLetters = Set("yntfo".utf8)

    /// From the YAML 1.1 type repository, in lower case.
    private static let words: Set<String> = ["y", "yes", "n", "no", "true", "false", "on", "off"]
}

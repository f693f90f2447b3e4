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

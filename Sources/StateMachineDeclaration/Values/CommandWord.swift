import StateMachineProtocol

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

extension JSONValue {
    /// A scalar's text without quotes, anything else as JSON.
    package var plainText: String {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let bool): bool ? "true" : "false"
        case .null, .array, .object: [self].listed
        }
    }
}

package import StateMachineClient
import Testing

extension Line {
    /// Parses a text, which must be a line.
    package static func of(_ text: String) throws -> Line {
        try #require(Line(Array(text.utf8)))
    }
}

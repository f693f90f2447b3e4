import Foundation
import StateMachineProtocol
import Testing

/// A file of examples, one JSON object a line, that other implementations may read too.
enum Fixture: String {
    /// Request lines (`line`) and the same request as a plain object (`means`).
    case requests
    /// Lines that are refused when they are read or resolved (`line`), and the answer (`reply`).
    case refusals
    /// Replies, as they are sent.
    case replies
    /// Lines that are not answers to a request, and how a connection ends.
    case watches
    /// The answers to `describe` and `help`.
    case descriptions

    /// Its lines, without their newlines.
    func lines() throws -> [String] {
        let url = try #require(
            Bundle.module.url(
                forResource: self.rawValue,
                withExtension: "jsonl",
                subdirectory: "Fixtures"
            )
        )
        let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        #expect(text.utf8.last == UInt8(ascii: "\n"))
        return text.utf8.split(separator: UInt8(ascii: "\n")).map { String(Substring($0)) }
    }

    /// Its lines' members `line`, which is text, and `key`.
    func examples(_ key: String) throws -> [(line: String, value: JSONValue)] {
        try self.lines().map { line in
            let example = try JSONValue(reading: line)
            return (try #require(example["line"]?.string), try #require(example[key]))
        }
    }
}

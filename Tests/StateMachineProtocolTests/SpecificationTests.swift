import Foundation
import StateMachineProtocol
import Testing

@Suite("The specification") struct SpecificationTests {
    @Test("shows only lines that are among the examples") func showsOnlyExamples() throws {
        let examples = try Set(
            Fixture.replies.lines() + Fixture.watches.lines()
                + Fixture.refusals.examples("reply").map(\.value.text)
        )
        let shown = try self.lines(after: "← ")
        #expect(shown.count > 10)
        #expect(shown.filter { !examples.contains($0) } == [])
    }

    @Test("asks only for what can be read, or for an error on purpose")
    func asksForWhatCanBeRead() throws {
        let refused = try Set(Fixture.refusals.examples("reply").map(\.line))
        let asked = try self.lines(after: "→ ")
        #expect(asked.count > 10)
        for line in asked where !refused.contains(line) {
            #expect(try Request.parse(Array(line.utf8)) != nil, "\(line)")
        }
    }

    @Test("has every operation with its keys, every error and every limit")
    func hasEverything() throws {
        let text = try self.text()
        for operation in Operation.allCases {
            let start = try #require(text.range(of: "### \(operation.rawValue)\n"))
            let section = text[start.upperBound...]
            let end = section.range(of: "\n##")?.lowerBound ?? section.endIndex
            for key in operation.keys {
                #expect(section[..<end].contains("| `\(key.rawValue)` |"), "\(key)")
            }
        }
        for feature in Feature.allCases {
            #expect(text.contains("| `\(feature.rawValue)` |"), "\(feature)")
        }
        for code in ErrorCode.allCases { #expect(text.contains("`\(code.rawValue)`"), "\(code)") }
        let description = try JSONValue(reading: Fixture.descriptions.lines()[0])
        for limit in try #require(description["limits"]?.members) {
            let value = try #require(limit.value.integer)
            let row = "| `\(limit.key)` | \(Self.grouped(value)) |"
            #expect(text.contains(row), "\(row)")
        }
        for member in try #require(description.members).dropFirst(2) {
            #expect(text.contains("| `\(member.key)` |"), "\(member.key)")
        }
    }

    /// With a comma before every three digits, as in text for people.
    private static func grouped(_ number: Int64) -> String {
        let digits = String(number)
        return digits.enumerated().reduce(into: "") { text, digit in
            let left = digits.count - digit.offset
            if digit.offset > 0 && left % 3 == 0 { text.append(",") }
            text.append(digit.element)
        }
    }

    private func lines(after mark: String) throws -> [String] {
        try self.text().split(separator: "\n").filter { $0.hasPrefix(mark) }
            .map { String($0.dropFirst(mark.count)) }
    }

    private func text() throws -> String {
        // The documentation is not a resource of any target; it is read from the sources.
        let path = "../../Sources/StateMachineProtocol/Documentation.docc/Protocol.md"
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: path)
        return try String(contentsOf: url.standardized, encoding: .utf8)
    }
}

import Foundation
import Testing

/// The tests named in the documentation's checklist must exist.
@Suite struct ChecklistTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    private static let page = Self.tests
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "Sources/StateMachineCore/StateMachineCore.docc/Checklist.md")

    @Test func everyRowOfTheChecklistNamesTestsThatAreThereAndExpectSomething() throws {
        let tests = try Self.bodies()
        let rows = try String(contentsOf: Self.page, encoding: .utf8)
            .split(separator: "\n")
            .filter { $0.firstMatch(of: /^\| [RATFG]?\d+ \|/) != nil }
        // 16 + 17 + 19 + 15 + 16 rows of the patterns and the sixteen points.
        #expect(rows.count == 99)
        for row in rows {
            let named = (row.split(separator: "|").last ?? "").matches(of: /`(\w+)`/)
            #expect(!named.isEmpty, "\(row)")
            for name in named {
                let body = tests[String(name.1)]
                #expect(body != nil, "no test is named \(name.1)")
                #expect(
                    body?.contains(/expect\(|expect<|expect\w*\(|Issue\.record\(/) != false,
                    "\(name.1) expects nothing"
                )
            }
        }
    }

    /// The source after each `@Test`, up to the next one, by the function's name.
    private static func bodies() throws -> [String: Substring] {
        let sources = try FileManager.default
            .contentsOfDirectory(at: self.tests, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        var bodies: [String: Substring] = [:]
        for source in sources {
            for part in source.split(separator: "@Test").dropFirst() {
                guard let name = part.firstMatch(of: /func (\w+)\(/) else { continue }
                bodies[String(name.1)] = part
            }
        }
        return bodies
    }
}

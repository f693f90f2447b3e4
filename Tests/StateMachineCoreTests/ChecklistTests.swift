import Foundation
import Testing

/// The documentation's checklist names tests: those have to be there.
@Suite struct ChecklistTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    private static let page = Self.tests
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "Sources/StateMachineCore/StateMachineCore.docc/Checklist.md")

    @Test func everyRowOfTheChecklistNamesATestThatIsThere() throws {
        let source = try FileManager.default
            .contentsOfDirectory(at: Self.tests, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
            .joined()
        let rows = try String(contentsOf: Self.page, encoding: .utf8)
            .split(separator: "\n")
            .filter { $0.firstMatch(of: /^\| [RATFG]?\d+ \|/) != nil }
        // 16 + 17 + 19 + 15 + 16 rows of the patterns and the sixteen points.
        #expect(rows.count == 99)
        for row in rows {
            let named = (row.split(separator: "|").last ?? "").matches(of: /`(\w+)`/)
            #expect(!named.isEmpty, "\(row)")
            for name in named {
                #expect(source.contains("func \(name.1)("), "no test is named \(name.1)")
            }
        }
    }
}

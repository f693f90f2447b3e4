#if Cluster
import Foundation
import Testing

/// The scripts and tests named in the checklist of a shared machine must exist.
@Suite struct SharingChecklistTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    private static let page = Self.tests
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "Sources/StateMachineEtcd/StateMachineEtcd.docc/Checklist.md")

    @Test func everyRowOfTheChecklistNamesWhatIsThere() throws {
        let rows = try String(contentsOf: Self.page, encoding: .utf8)
            .split(separator: "\n")
            .filter { $0.firstMatch(of: /^\| [PUFRST]\d+ \|/) != nil }
        #expect(rows.count == 74)
        let simulation = try String(
            contentsOf: Self.tests.appending(path: "SimulationTests.swift"),
            encoding: .utf8
        )
        for row in rows {
            let named = (row.split(separator: "|").last ?? "").matches(of: /`([\w.-]+)`/)
            #expect(!named.isEmpty, "\(row)")
            for name in named.map({ String($0.1) }) {
                #expect(
                    SharingScriptTests.scripts.contains(name)
                        || simulation.contains("func \(name)()"),
                    "nothing is named \(name)"
                )
            }
        }
    }
}
#endif

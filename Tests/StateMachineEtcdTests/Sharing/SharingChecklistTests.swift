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

    /// Whether a script of the gate's has that name.
    private static func isOfGate(_ name: String) -> Bool {
        let scripts = Self.tests.deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "StateMachineCoreTests/GateScripts")
        return FileManager.default.fileExists(atPath: scripts.appending(path: name).path)
    }

    /// What the files of tests there say, one after the other.
    private static func sources(below directory: URL) throws -> String {
        let all = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
        return try (all?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    }

    @Test func everyRowOfTheChecklistNamesWhatIsThere() throws {
        let rows = try String(contentsOf: Self.page, encoding: .utf8)
            .split(separator: "\n")
            .filter { $0.firstMatch(of: /^\| [PUFRST]\d+ \|/) != nil }
        #expect(rows.count == 76)
        let tests = try Self.sources(below: Self.tests.deletingLastPathComponent())
        for row in rows {
            let named = (row.split(separator: "|").last ?? "").matches(of: /`([\w.-]+)`/)
            #expect(!named.isEmpty, "\(row)")
            for name in named.map({ String($0.1) }) {
                #expect(
                    SharingScriptTests.scripts.contains(name) || Self.isOfGate(name)
                        || tests.contains("func \(name)()"),
                    "nothing is named \(name)"
                )
            }
        }
    }
}
#endif

import Foundation
import StateMachineCore
import StateMachineProtocol
import TestSupport

@testable import statectl

/// A directory of one test's own.
struct Scratch {
    let path: String

    /// Makes it, runs `body`, and removes it with the files in it.
    static func with<Result>(_ body: (Scratch) async throws -> Result) async throws -> Result {
        try await withTemporaryDirectory { try await body(Scratch(path: $0)) }
    }

    /// The names of the files in it, sorted.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: self.path).sorted() }
    }

    func read(_ name: String) throws -> String {
        try String(contentsOfFile: "\(self.path)/\(name)", encoding: .utf8)
    }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: "\(self.path)/\(name)", atomically: false, encoding: .utf8)
    }
}

extension LineText {
    /// What is shown twelve seconds after the first of these tests' lines, in UTC, with root as the
    /// only user.
    static func fixed(_ style: Style = .plain, width: Int? = nil) -> LineText {
        LineText(
            style: style,
            now: WallTime(microseconds: 1_795_211_715_120_007),
            userName: { [0: "root", 7: "anna"][$0] },
            host: "kiosk",
            localTime: { moment in
                let parts = moment.rfc3339.split(separator: "T")
                return LocalTime(date: String(parts[0]), time: String(parts[1].prefix(12)))
            },
            width: width
        )
    }
}

import Foundation
import TestSupport

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

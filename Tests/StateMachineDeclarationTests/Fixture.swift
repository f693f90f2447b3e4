import Foundation
import StateMachineCore
import StateMachineDeclaration
import Testing

/// The files beside these tests.
enum Fixture {
    static let directory: URL = Bundle.module.bundleURL.appending(path: "Fixtures")

    /// The names of a folder's files with that ending, without it.
    static func names(in folder: String, _ ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: self.directory.appending(path: folder).path
        )
        .filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }.sorted()
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: self.directory.appending(path: path)))
    }

    static func text(_ path: String) throws -> String {
        String(decoding: try self.bytes(path), as: UTF8.self)
    }

    /// One of the documentation's machines.
    static func machine(_ name: String) throws -> Declaration {
        try declaration(try self.text("machines/\(name).yaml"))
    }
}

/// The machine that a text declares; the test fails if there are errors.
func declaration(
    _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> Declaration {
    let reading = DeclarationReading(Array(text.utf8))
    return try #require(
        reading.declaration,
        "\(reading.problems.map { $0.line(in: "file") })",
        sourceLocation: sourceLocation
    )
}

/// The problems of a text, one line each.
func problems(_ text: String) -> [String] {
    DeclarationReading(Array(text.utf8)).problems.map { $0.line(in: "file") }
}

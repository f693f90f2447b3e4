import Foundation
public import Testing

/// A text that a test compares line by line with what it sees, and that is recorded again on request.
public struct RecordedText {
    /// The file's name, as failures say it.
    public let name: String
    /// As it was recorded.
    public let text: String
    private let path: String

    /// - Parameters:
    ///   - name: the file's name.
    ///   - directory: where it is.
    /// - Throws: what keeps it from being read.
    public init(_ name: String, in directory: String) throws {
        self.name = name
        self.path = "\(directory)/\(name)"
        self.text = try String(contentsOfFile: self.path, encoding: .utf8)
    }

    /// Expects it to be `seen`, and first records that if the environment has the variable.
    ///
    /// - Throws: what keeps it from being written.
    public func expect(
        _ seen: String,
        rewritingIf variable: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        if ProcessInfo.processInfo.environment[variable] != nil {
            try seen.write(toFile: self.path, atomically: true, encoding: .utf8)
        }
        let expected = self.text.split(separator: "\n", omittingEmptySubsequences: false)
        let actual = seen.split(separator: "\n", omittingEmptySubsequences: false)
        let line = zip(expected, actual).enumerated().first { $1.0 != $1.1 }?.offset
        if let line {
            Issue.record(
                "\(self.name):\(line + 1)\nrecorded: \(expected[line])\nseen:     \(actual[line])",
                sourceLocation: sourceLocation
            )
        }
        #expect(
            expected.count == actual.count,
            "\(self.name): lines are missing, or too many",
            sourceLocation: sourceLocation
        )
    }
}

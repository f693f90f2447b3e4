import StateMachineCore

/// What is wrong with a file, or looks as if it were.
public struct DeclarationProblem: Hashable, Sendable {
    /// How much it matters.
    public enum Severity: Hashable, Sendable {
        /// The file cannot be used.
        case error
        /// The file can be used, but may not do what was meant.
        case warning
    }

    /// How much it matters.
    public let severity: Severity
    /// Where it is wrong.
    public let position: FilePosition
    /// What is wrong and what to do about it.
    public let sentence: String

    /// The problem as a line of text: `FILE:LINE:COLUMN: sentence`, without anything that a terminal would obey.
    public func line(in file: String) -> String {
        let mark =
            switch self.severity {
            case .error: ""
            case .warning: "warning: "
            }
        return "\(file):\(self.position.line):\(self.position.column): \(mark)\(self.sentence)"
            .printable
    }
}

/// A place in a file, counted from 1; columns are counted in characters.
public struct FilePosition: Hashable, Comparable, Sendable {
    /// The line.
    public let line: Int
    /// The character in the line.
    public let column: Int

    /// The position of problems with a file as a whole.
    static let start = FilePosition(line: 1, column: 1)

    /// Earlier in the file.
    public static func < (left: FilePosition, right: FilePosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A value with the place where it stands.
struct Located<Value> {
    let value: Value
    let position: FilePosition

    init(_ value: Value, _ position: FilePosition) {
        self.value = value
        self.position = position
    }
}

extension Located: Sendable where Value: Sendable {}

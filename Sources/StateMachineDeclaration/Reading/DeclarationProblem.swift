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

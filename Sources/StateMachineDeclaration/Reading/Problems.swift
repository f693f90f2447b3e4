import StateMachineCore
import StateMachineProtocol

/// The problems found so far while one file is read.
///
/// A class, as everything that reads parts of the file adds to it; it is not used outside one
/// reading.
final class Problems {
    /// The most errors that are reported; the rest is left out, with a note that there is more.
    ///
    /// 1000: more than anybody reads, and it limits the time for a file that is not a declaration
    /// at all.
    private static let limit = 1000

    /// The number of errors up to which an unknown name is compared with all known ones.
    ///
    /// 100: comparing costs the product of both lengths for each known name.
    private static let suggestionLimit = 100

    private var found: [DeclarationProblem] = []
    private var known: Set<DeclarationProblem> = []
    private var errors = 0

    /// The places of real booleans, as opposed to text that looks like one.
    let booleans = BooleanPositions()

    /// Fields of states or events that could not be read; resulting errors are not reported.
    private var unread: Set<Spelling> = []

    /// Whether a part of the file was left out for its size, so that names in it are not known.
    private(set) var isCut = false

    var hasErrors: Bool { self.errors > 0 }

    /// Whether further errors are dropped.
    var isFull: Bool { self.errors >= Self.limit }

    /// In file order.
    var sorted: [DeclarationProblem] {
        var sorted = self.found.enumerated()
            .sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
            .map(\.element)
        if self.isFull, let last = sorted.last {
            sorted.append(
                DeclarationProblem(
                    severity: .error,
                    position: last.position,
                    sentence: "there are more errors; correct these \(Self.limit) first"
                )
            )
        }
        return sorted
    }

    /// Adds an error, once, while there is room.
    func error(_ position: FilePosition, _ sentence: @autoclosure () -> String) {
        guard !self.isFull else { return }
        if self.add(.error, position, sentence()) { self.errors += 1 }
    }

    /// Adds an error, and returns nil for what cannot be read.
    func refuse<Value>(_ position: FilePosition, _ sentence: @autoclosure () -> String) -> Value? {
        self.error(position, sentence())
        return nil
    }

    /// Adds an error after which a part of the file is not read.
    func cut(_ position: FilePosition, _ sentence: String) {
        self.isCut = true
        self.error(position, sentence)
    }

    /// Notes a field that cannot be read, which has been reported.
    func noteUnread(field name: String) { self.unread.insert(Spelling(name)) }

    /// Whether a field of that name could not be read.
    func isUnread(field name: String) -> Bool { self.unread.contains(Spelling(name)) }

    /// Adds a warning, once.
    func warn(_ position: FilePosition, _ sentence: String) {
        _ = self.add(.warning, position, sentence)
    }

    /// What to say about an unknown name: the nearest known one, or all of them, or nothing.
    func suggestion(for name: String, among known: some Sequence<String>) -> String {
        guard self.errors < Self.suggestionLimit else { return "" }
        var names: Set<Spelling> = []
        // Duplicates in the file are reported where they stand.
        return NearestName.remark(
            on: name,
            among: known.filter { names.insert(Spelling($0)).inserted }
        )
    }

    private func add(
        _ severity: DeclarationProblem.Severity,
        _ position: FilePosition,
        _ sentence: String
    ) -> Bool {
        let problem = DeclarationProblem(severity: severity, position: position, sentence: sentence)
        guard self.known.insert(problem).inserted else { return false }
        self.found.append(problem)
        return true
    }
}

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
        let mark = self.severity == .warning ? "warning: " : ""
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

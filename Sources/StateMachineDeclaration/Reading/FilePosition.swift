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

/// A client's id for one of its requests: a string of at most 128 bytes, or an integer below 2^53
/// in size.
public enum RequestID: Hashable, Sendable {
    /// Written as an integer.
    case integer(Int64)
    /// Written as a string.
    case string(String)

    /// The id in a line; nil if it cannot be one.
    init?(_ value: JSONValue) {
        if let string = value.string {
            self = .string(string)
        } else if let integer = value.integer {
            self = .integer(integer)
        } else {
            return nil
        }
    }

    var json: JSONValue {
        switch self {
        case .integer(let integer): .integer(integer)
        case .string(let string): .string(string)
        }
    }

    /// Whether both are spelled the same.
    public static func == (left: RequestID, right: RequestID) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left == right
        case (.string(let left), .string(let right)): left.isSpelled(right)
        case (.integer, _), (.string, _): false
        }
    }

    /// Hashes the spelling.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .integer(let integer): hasher.combine(integer)
        case .string(let string): string.hashSpelling(into: &hasher)
        }
    }
}

extension RequestID: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

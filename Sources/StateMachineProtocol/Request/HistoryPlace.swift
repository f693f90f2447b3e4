public import StateMachineCore

/// A place among old changes.
public enum HistoryPlace: Hashable, Sendable {
    /// A change by its number.
    case seq(UInt64)
    /// A change by a cursor from a line.
    case cursor(String)
    /// A moment, between two changes.
    case time(WallTime)

    /// A place as it appears in a request: a number, or a string with a time or a cursor; else nil.
    init?(_ value: JSONValue) {
        switch value {
        case .number:
            guard let integer = value.integer, integer >= 0,
                integer < RequestLimits.integerBound
            else { return nil }
            self = .seq(UInt64(integer))
        case .string(let text):
            if let time = WallTime(reading: text) {
                self = .time(time)
            } else if Cursor(text) != nil {
                self = .cursor(text)
            } else {
                return nil
            }
        case .null, .bool, .array, .object: return nil
        }
    }

    var written: JSONValue {
        switch self {
        case .seq(let seq): .integer(seq)
        case .cursor(let cursor): .string(cursor)
        case .time(let time): .string(time.rfc3339)
        }
    }
}

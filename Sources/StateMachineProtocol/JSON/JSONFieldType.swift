import FoundationEssentials

/// The JSON type of a field of a state.
package enum JSONFieldType: String, Hashable, Sendable, CaseIterable {
    case boolean
    case integer
    case number
    case string
    case array
    case object
    /// A duration: an integer of milliseconds, which is written `90s`. Of files alone.
    case time
    /// A moment, as text of RFC 3339. Of files alone.
    case instant

    init?(_ type: Any.Type) {
        switch type {
        case is Bool.Type: self = .boolean
        case is any FixedWidthInteger.Type: self = .integer
        case is any BinaryFloatingPoint.Type: self = .number
        case is String.Type, is Date.Type: self = .string
        default: return nil
        }
    }

    init?(_ value: JSONValue) {
        switch value {
        case .null: return nil
        case .bool: self = .boolean
        case .number(let text): self = Int64(text) == nil ? .number : .integer
        case .string: self = .string
        case .array: self = .array
        case .object: self = .object
        }
    }

    /// Whether its values contain no others.
    package var isScalar: Bool { self != .array && self != .object }

    /// Whether of two values one is the smaller.
    package var hasOrder: Bool { self.isNumeric || self == .time || self == .instant }

    /// Whether its values are numbers to count with.
    package var isNumeric: Bool { self == .integer || self == .number }

    func admits(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.integer, .number(let text)): Int64(text) != nil || UInt64(text) != nil
        case (.time, _): value.integer != nil
        case (.instant, _): value.instant != nil
        default: value.kind == self.rawValue
        }
    }
}

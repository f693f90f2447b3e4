import FoundationEssentials

/// The JSON type of a field of a state.
package enum JSONFieldType: String, Hashable, Sendable {
    case boolean
    case integer
    case number
    case string
    case array
    case object

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

    func admits(_ value: JSONValue) -> Bool {
        guard self == .integer, case .number(let text) = value else {
            return value.kind == self.rawValue
        }
        return Int64(text) != nil || UInt64(text) != nil
    }
}

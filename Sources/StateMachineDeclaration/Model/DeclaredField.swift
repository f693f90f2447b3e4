package import StateMachineProtocol

/// A field of a declared state or event.
package struct DeclaredField: Hashable, Sendable {
    /// The limits of a value, or of a text's length in bytes.
    package enum Bounds: Hashable, Sendable {
        case none
        case integers(ClosedRange<Int64>)
        /// Exact, as patterns compare numbers: a double would take 10.0000000000000000001 for 10.
        case numbers(ClosedRange<JSONDecimal>)
        /// Of a text in UTF-8.
        case bytes(ClosedRange<Int64>)
    }

    /// As far as a double goes, where a bound is not given.
    static let widestNumbers: ClosedRange<JSONDecimal> = {
        let end = "\(Double.greatestFiniteMagnitude)"
        guard let least = JSONDecimal("-" + end), let most = JSONDecimal(end) else {
            preconditionFailure("\(end) is no number")
        }
        return least...most
    }()

    package let name: String
    package let type: JSONFieldType
    /// All its possible values, if they are listed; else empty.
    package let values: [JSONValue]
    package let bounds: Bounds
    /// The value where nothing else gives one.
    package internal(set) var fallback: JSONValue?
    /// Whether it may be absent.
    package let isOptional: Bool
    /// Its old names.
    package let oldNames: [String]

    /// Whether a value is there whenever the state or event is.
    package var isCertain: Bool { !self.isOptional }

    /// Whether a command's word can contain it.
    package var isScalar: Bool {
        switch self.type {
        case .boolean, .integer, .number, .string: true
        case .array, .object: false
        }
    }

    /// What its type is called, with an article.
    package var typeName: String {
        switch self.type {
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Why a value does not fit a field; a sentence to go after `name=value: `.
package struct FieldObjection: Error, Hashable, Sendable {
    package let sentence: String
}

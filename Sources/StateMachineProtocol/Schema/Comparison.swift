package import StateMachineCore

/// How a condition compares a field with a value.
///
/// Numbers are compared by value, exactly; texts byte by byte.
package enum Comparator: String, Hashable, Sendable, CaseIterable {
    case equal = "="
    case unequal = "!="
    case less = "<"
    case atMost = "<="
    case greater = ">"
    case atLeast = ">="

    /// Whether it asks which of two values is the larger one.
    package var isOrder: Bool { self != .equal && self != .unequal }

    /// Whether it holds of two values; what has no order is neither less nor greater.
    ///
    /// Instants are compared as moments, however they are written.
    package func holds(_ left: JSONValue, _ right: JSONValue, asInstants: Bool) -> Bool {
        guard asInstants else { return self.holds(left, right) }
        guard let left = left.instant, let right = right.instant else { return false }
        return self.holds(.integer(left.microseconds), .integer(right.microseconds))
    }

    /// The same of two values that are no instants.
    package func holds(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch self {
        case .equal: left.equals(right)
        case .unequal: !left.equals(right)
        case .less: left.isLess(than: right) ?? false
        case .atMost: right.isLess(than: left).map { !$0 } ?? false
        case .greater: right.isLess(than: left) ?? false
        case .atLeast: left.isLess(than: right).map { !$0 } ?? false
        }
    }
}

extension JSONValue {
    /// The moment that a text of RFC 3339 names; nil of anything else.
    package var instant: WallTime? { self.string.flatMap { WallTime(reading: $0) } }

    /// Whether it is the smaller one of two numbers; nil if they have no order.
    fileprivate func isLess(than other: JSONValue) -> Bool? {
        guard case .number(let left) = self, case .number(let right) = other else { return nil }
        if let left = Int64(left), let right = Int64(right) { return left < right }
        // Rounding keeps the order of what it leaves different.
        if let left = Double(left), let right = Double(right), left != right { return left < right }
        guard let left = JSONDecimal(left), let right = JSONDecimal(right) else { return nil }
        return left < right
    }
}

/// A field compared with a value.
package struct Comparison: Sendable {
    /// The field's name.
    package let name: String
    package let comparator: Comparator
    package let operand: JSONValue
    /// Whether the field is an instant.
    let isOfInstants: Bool

    package init(
        name: String,
        comparator: Comparator,
        operand: JSONValue,
        isOfInstants: Bool = false
    ) {
        self.name = name
        self.comparator = comparator
        self.operand = operand
        self.isOfInstants = isOfInstants
    }

    /// Whether it holds of what a field carries: never of nothing, and null is nothing.
    package func holds(of value: JSONValue?) -> Bool {
        guard let value, value != .null else { return false }
        return self.comparator.holds(value, self.operand, asInstants: self.isOfInstants)
    }
}

extension Field {
    /// Why its values cannot be compared like that, with whatever; nil if they can.
    package func objection(to comparator: Comparator) -> String? {
        switch self.type {
        case .array, .object:
            "\(self.name) is \(self.typeName); only booleans, numbers and strings are compared"
        case .boolean where comparator.isOrder, .string where comparator.isOrder:
            "\(self.name) is \(self.typeName), and has no order; use = or !="
        case .boolean, .integer, .number, .string, .time, .instant: nil
        }
    }

    /// The literal with which it is compared: of its type, and one of its values if they are listed, in whatever range.
    ///
    /// - Throws: `bad-data`, which says why it is none.
    package func literal(of comparison: ComparisonText) throws(WireError) -> JSONValue {
        func refusal(_ sentence: String) -> WireError {
            let written =
                "\(self.name)\(comparison.comparator.rawValue)\(comparison.operand.excerpt())"
            return WireError(.badData, "\(written): \(sentence)", values: self.values)
        }
        if let sentence = self.objection(to: comparison.comparator) { throw refusal(sentence) }
        var unbounded = self
        unbounded.bounds = Bounds()
        do throws(Misfit) {
            return try unbounded.value(ofText: comparison.operand)
        } catch {
            throw refusal(error.sentence)
        }
    }

    /// Why the field's value cannot be compared so; nil if it can.
    func objection(to comparison: ComparisonText) -> WireError? {
        do {
            _ = try self.literal(of: comparison)
            return nil
        } catch {
            return error
        }
    }
}

/// `FIELD OP VALUE` as it is written; white space around the operator does not count.
package struct ComparisonText: Hashable, Sendable {
    package let name: String
    package let comparator: Comparator
    package let operand: String

    /// The same again, without white space.
    var text: String { "\(self.name)\(self.comparator.rawValue)\(self.operand)" }

    /// Whether its name is a letter, and then letters, digits, `_` and `-`.
    package var hasName: Bool {
        self.name.unicodeScalars.first.map { $0.properties.isAlphabetic } ?? false
            && self.name.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || "0123456789_-".unicodeScalars.contains($0)
            }
    }

    /// Whether both are spelled the same.
    package static func == (left: Self, right: Self) -> Bool {
        left.name.isSpelled(right.name) && left.comparator == right.comparator
            && left.operand.isSpelled(right.operand)
    }

    package func hash(into hasher: inout Hasher) {
        self.name.hashSpelling(into: &hasher)
        hasher.combine(self.comparator)
        self.operand.hashSpelling(into: &hasher)
    }

    init(_ name: String, _ comparator: Comparator, _ operand: String) {
        (self.name, self.comparator, self.operand) = (name, comparator, operand)
    }

    /// Splits at the first operator; nil if there is none.
    package init?(_ text: String) {
        let bytes = text.utf8
        /// Where the operator ends that begins there; nil if none does: a `!` alone is part of the name.
        func end(of start: String.Index) -> String.Index? {
            let next = bytes.index(after: start)
            let isFollowed = next < bytes.endIndex && bytes[next] == UInt8(ascii: "=")
            return switch bytes[start] {
            case UInt8(ascii: "="): next
            case UInt8(ascii: "<"), UInt8(ascii: ">"): isFollowed ? bytes.index(after: next) : next
            case UInt8(ascii: "!") where isFollowed: bytes.index(after: next)
            default: nil
            }
        }
        guard let start = bytes.indices.first(where: { end(of: $0) != nil }),
            let end = end(of: start),
            let comparator = Comparator(rawValue: String(text[start..<end]))
        else { return nil }
        self.name = String(text[..<start]).trimmed
        self.comparator = comparator
        self.operand = String(text[end...]).trimmed
    }
}

extension String {
    /// Without spaces and tabs at both ends.
    package var trimmed: String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = self.utf8.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(Substring(start[...last]))
    }
}

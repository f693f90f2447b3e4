/// A field of a state or an event, as it appears in `data`: what it may hold, and what it is without a value.
package struct Field: Hashable, Sendable {
    /// The limits of a number, or of a text's length in bytes; nil where there is none.
    ///
    /// Exact, as patterns compare numbers: a double would take 10.0000000000000000001 for 10.
    package struct Bounds: Hashable, Sendable {
        package var least: JSONDecimal?
        package var most: JSONDecimal?

        package init(least: JSONDecimal? = nil, most: JSONDecimal? = nil) {
            self.least = least
            self.most = most
        }
    }

    /// Its name in `data`.
    package let name: String
    package let type: JSONFieldType
    /// All its possible values, if that is a closed list; else empty.
    package var values: [JSONValue]
    package var bounds = Bounds()
    /// The value where nothing else gives one.
    package var fallback: JSONValue?
    /// Whether it may be absent.
    package var isOptional: Bool
    /// Its former names.
    package var oldNames: [String]
    /// Whether a type of a program's reads its values: then an integer may be as large as a `UInt64`, and 1.0 is none.
    let isRead: Bool

    /// A field that a file declares.
    package init(_ name: String, type: JSONFieldType, isOptional: Bool = false) {
        self.name = name
        self.type = type
        self.values = []
        if type == .time {
            self.bounds.least = JSONDecimal("\(TimeText.range.lowerBound)")
            self.bounds.most = JSONDecimal("\(TimeText.range.upperBound)")
        }
        self.isOptional = isOptional
        self.oldNames = []
        self.isRead = false
    }

    /// A field that a type of a program's reads.
    init(
        readAs type: JSONFieldType,
        _ name: String,
        values: [JSONValue] = [],
        isOptional: Bool,
        oldNames: [String] = []
    ) {
        self.name = name
        self.type = type
        self.values = values
        self.isOptional = isOptional
        self.oldNames = oldNames
        self.isRead = true
    }

    /// Its member of a state's data, which may have been recorded under a former name.
    package func member(in data: [JSONMember]) -> JSONMember? {
        ([self.name] + self.oldNames).lazy
            .compactMap { name in data.first { $0.key.isSpelled(name) } }.first
    }

    /// Whether it has to be given.
    package var isNeeded: Bool { !self.isOptional && self.fallback == nil }

    /// The same as members of an object in `describe`; of states without the value where none is given.
    package func described(withDefault: Bool) -> JSONValue {
        var members = [JSONMember("type", .string(self.type.rawValue))]
        if !self.values.isEmpty && self.type != .boolean {
            members.append(JSONMember("values", .array(self.values)))
        }
        if self.isOptional { members.append(JSONMember("optional", true)) }
        if withDefault, let fallback { members.append(JSONMember("default", fallback)) }
        return .object(members + self.bounds.members(beside: self.usualBounds))
    }

    /// What each field of the type keeps to, and what limits none of them.
    private var usualBounds: Bounds { Field("", type: self.type).bounds }

    /// Whether it takes less than each field of the type does.
    package var isNarrowed: Bool { self.bounds != self.usualBounds || !self.values.isEmpty }
}

extension Field.Bounds {
    fileprivate func members(beside usual: Self) -> [JSONMember] {
        let ends = [("min", self.least, usual.least), ("max", self.most, usual.most)]
        return ends.compactMap { key, end, usual in
            end == usual ? nil : end.map { JSONMember(key, .number("\($0)")) }
        }
    }

    /// Whether all that keeps to the other bounds keeps to these.
    fileprivate func contains(_ other: Self) -> Bool {
        (self.least.map { least in other.least.map { $0 >= least } ?? false } ?? true)
            && (self.most.map { most in other.most.map { $0 <= most } ?? false } ?? true)
    }
}

// What it may hold.
extension Field {
    /// The value in the form that the field keeps: integers in their plain spelling.
    ///
    /// - Throws: what is wrong with it for this field.
    package func checked(_ value: JSONValue) throws(Misfit) -> JSONValue {
        if let misfit = self.misfit(of: value) { throw misfit }
        return self.kept(value)
    }

    /// What is wrong with `value` if this field is to be given it; nil if nothing is.
    package func misfit(of value: JSONValue) -> Misfit? {
        if let misfit = self.misfit(ofKept: value) { return misfit }
        return value.hasOnlyFiniteNumbers ? nil : Misfit(.size, of: value, in: self)
    }

    /// The same for a value that a state has already: earlier versions took numbers that no double holds.
    package func misfit(ofKept value: JSONValue) -> Misfit? {
        if let misfit = self.misfit(ofKind: value) { return misfit }
        guard !value.hasTooManyMarks else { return Misfit(.marks, of: value, in: self) }
        return self.boundsMisfit(of: value)
    }

    /// The same, whatever its bounds: whether it is of the type and, where values are listed, one of them.
    package func misfit(ofKind value: JSONValue) -> Misfit? {
        if value == .null, self.isOptional { return nil }
        if !self.values.isEmpty, self.values.contains(value) { return nil }
        guard self.admits(value) else { return Misfit(.type, of: value, in: self) }
        guard self.values.isEmpty else { return Misfit(.values, of: value, in: self) }
        return nil
    }

    private func admits(_ value: JSONValue) -> Bool {
        if self.isRead || self.type != .integer { return self.type.admits(value) }
        return value.integer != nil
    }

    private func boundsMisfit(of value: JSONValue) -> Misfit? {
        let bounds = self.bounds
        guard bounds.least != nil || bounds.most != nil else { return nil }
        let measured: JSONDecimal?
        switch value {
        case .number(let text): measured = JSONDecimal(text)
        case .string where self.type == .instant: return nil
        case .string(let text): measured = JSONDecimal("\(text.utf8.count)")
        case .null, .bool, .array, .object: return nil
        }
        guard let measured else { return Misfit(.exponent, of: value, in: self) }
        if let least = bounds.least, measured < least {
            return Misfit(.least(least), of: value, in: self)
        }
        if let most = bounds.most, measured > most {
            return Misfit(.most(most), of: value, in: self)
        }
        return nil
    }

    /// The value in the form that the field keeps, if it fits.
    package func kept(_ value: JSONValue) -> JSONValue {
        guard self.type == .integer || self.type == .time, !self.isRead,
            let integer = value.integer
        else { return value }
        return .number("\(integer)")
    }

    /// Whether values of `source` are of this field's type.
    package func hasType(of source: Field) -> Bool {
        self.type == source.type || (self.type == .number && source.type == .integer)
    }

    /// Whether every value that `source` can have fits this field.
    package func admitsAll(of source: Field) -> Bool {
        guard self.hasType(of: source) else { return false }
        guard source.values.isEmpty else {
            return source.values.allSatisfy { self.misfit(of: $0) == nil }
        }
        guard self.values.isEmpty else { return false }
        var given = source.bounds
        if self.type == .number, source.type == .integer {
            given.least = given.least ?? JSONDecimal("\(Int64.min)")
            given.most = given.most ?? JSONDecimal("\(Int64.max)")
        }
        return self.bounds.contains(given)
    }
}

// What words stand for.
extension Field {
    /// The value that a word stands for, by the field's type, never by its look: for a string field
    /// every word is text.
    ///
    /// A word that does not fit stays a string, which the check of the field's values then refuses.
    package func value(ofWord word: String) -> JSONValue {
        // A string field may hold "null".
        if self.type != .string, self.isOptional, word == "null" { return .null }
        return self.type.value(ofWord: word)
    }

    /// The value that a text stands for, typed as the field is.
    ///
    /// - Throws: what is wrong with it for this field, and how it is written.
    package func value(ofText text: String) throws(Misfit) -> JSONValue {
        let value = self.type.value(ofWord: text)
        guard self.admits(value) else {
            throw Misfit(doubledIn: text, in: self) ?? Misfit(.text, of: value, in: self)
        }
        if let misfit = self.misfit(of: value) { throw misfit }
        return value
    }

    /// The value of a word after `key=`, or after `key:=`, where it is always JSON.
    ///
    /// - Throws: what is wrong with it for this field, and how it is written.
    package func value(ofWord word: String, isJSON: Bool) throws(Misfit) -> JSONValue {
        // A text may be "null".
        if self.isOptional, word == "null", isJSON || self.type != .string { return .null }
        guard isJSON else { return try self.value(ofText: word) }
        guard let value = JSONValue(parsing: word) else {
            throw Misfit(doubledIn: word, in: self)
                ?? Misfit(.json, of: .string(word), in: self)
        }
        if let misfit = self.misfit(of: value) { throw misfit }
        return value
    }
}

extension Field {
    /// A number added to the field's value, or taken from it: exact for integers, else rounded as a `Double` is.
    package func sum(
        of present: JSONValue?,
        and amount: JSONValue,
        isDown: Bool = false
    ) throws(WireError) -> JSONValue {
        let isNegative = amount.plainText.utf8.first == UInt8(ascii: "-")
        // As it is most often written, whichever way it came.
        let addition =
            "\(self.name)\(isDown != isNegative ? "-" : "+")="
            + (isNegative ? amount.negated : amount).plainText.excerpt()
        guard self.type.isNumeric else {
            throw WireError(
                .badData,
                "\(addition): \(self.name) is \(self.typeName), not a number"
            )
        }
        guard let present else {
            throw WireError(.badData, "\(addition): \(self.name) has no value; set it first")
        }
        if let left = present.integer, let right = amount.integer {
            let (sum, isTooLarge) =
                isDown
                ? left.subtractingReportingOverflow(right) : left.addingReportingOverflow(right)
            if !isTooLarge { return .number("\(sum)") }
        } else if self.type == .integer {
            throw WireError(.badData, "\(addition): add a whole number")
        }
        guard self.type == .number, case .number(let left) = present,
            case .number(let right) = amount, let left = Double(left), let right = Double(right),
            case let sum = isDown ? left - right : left + right, sum.isFinite
        else {
            // Only what leads away from zero leads out of range.
            let text = present.plainText
            let (size, kind) = (
                text.hasPrefix("-") ? "smaller" : "larger",
                self.type == .integer ? "integer" : "number"
            )
            throw WireError(
                .badData,
                "\(addition): the field is \(text.excerpt()), and the sum is \(size) than any \(kind) here can be"
            )
        }
        return .number("\(sum)")
    }
}

// The names of an enum's associated values.
extension Field {
    /// The name of a value that the compiler's `Codable` conformance encodes under that key: the label, or
    /// `_0`, `_1` … without one.
    static func name(ofKey key: String) -> String {
        guard key.first == "_", let index = Int(key.dropFirst()) else { return key }
        return index == 0 ? "value" : "value\(index + 1)"
    }

    /// The key of a field of that name if it has no label; nil if it must have one.
    static func unlabelledKey(ofName name: String) -> String? {
        // By bytes: a name may come from a client.
        guard name.utf8.starts(with: "value".utf8) else { return nil }
        if name.utf8.count == 5 { return "_0" }
        guard let number = Int(Substring(name.utf8.dropFirst(5))), number > 1 else { return nil }
        return "_\(number - 1)"
    }
}

extension JSONFieldType {
    /// The value of this type that a word stands for; one that stands for none stays a string.
    package func value(ofWord word: String) -> JSONValue {
        switch self {
        case .string, .instant: return .string(word)
        case .time:
            guard let time = try? TimeText.duration(word, in: 0...Int64.max) else {
                return .string(word)
            }
            return .integer(time.wholeMilliseconds)
        case .boolean:
            switch word {
            case "true": return .bool(true)
            case "false": return .bool(false)
            default: return .string(word)
            }
        case .integer:
            guard word.utf8.first != UInt8(ascii: "+") else { return .string(word) }
            if let integer = Int64(word) { return .integer(integer) }
            return UInt64(word).map { .integer($0) } ?? .string(word)
        case .number:
            // JSON may have white space around it, which is none of a number's digits.
            guard let value = JSONValue(parsing: word), case .number(let number) = value,
                number.isSpelled(word)
            else {
                return .string(word)
            }
            return value
        // A type with an encoding of its own may be anything.
        case .array, .object: return JSONValue(typed: word)
        }
    }
}

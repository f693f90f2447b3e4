import FoundationEssentials
import StateMachineCore

extension JSONValue {
    /// Decodes the case of an enum with that name and those values.
    ///
    /// - Parameters:
    ///   - name: the case's name.
    ///   - data: its values by name; unknown ones are ignored here, but refused inside the values.
    ///   - rule: whether earlier versions' forms are accepted.
    ///   - type: the enum.
    /// - Throws: `DecodingError`; its coding path has one more key in front.
    /// - Returns: the case.
    static func decode<Value: Decodable>(
        _ name: String,
        _ data: [JSONMember],
        by rule: JSONReadingRule,
        as type: Value.Type
    ) throws -> Value {
        let form = JSONCase(name: name, data: .object(data))
        return try Value(
            from: JSONValueDecoder(value: form.value, codingPath: [], rule: rule, isCase: true)
        )
    }
}

/// How strictly values are read.
enum JSONReadingRule {
    /// As specified.
    case request
    /// Also as an earlier version may have written them: a date as a number, an enum's case in the
    /// compiler's encoding.
    case recorded
}

struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    let codingPath: [any CodingKey]
    let rule: JSONReadingRule
    /// Whether an enum is read: then an object is a case's name with its values.
    var isCase = false
    /// Whether the object holds the values of a case: then some may be unlabelled.
    var isPayload = false
    /// Where to note what is read; nil for a value that notes for itself, or has nothing inside.
    var inquiry: JSONInquiry?
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let members = self.value.members else {
            let expected = self.isCase ? JSONCase.expected : "object"
            throw self.mismatch(JSONMember.self, expected)
        }
        guard self.isCase else { return KeyedDecodingContainer(Keyed<Key>(self, members)) }
        if let form = JSONCase(self.value) {
            guard Key(stringValue: form.name) != nil else {
                throw self.objection("there is no case \(form.name.quoted)")
            }
            return KeyedDecodingContainer(Keyed<Key>(self, form: form))
        }
        switch self.rule {
        case .recorded: return KeyedDecodingContainer(Keyed<Key>(self, members))
        case .request:
            if self.value[JSONCase.Key.state.rawValue] != nil,
                let odd = members.first(where: { JSONCase.Key(rawValue: $0.key) == nil })
            {
                throw self.objection("a case has no key \(odd.key.quoted); known: state, data")
            }
            throw self.mismatch(JSONMember.self, JSONCase.expected)
        }
    }

    private func objection(_ sentence: String) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(codingPath: self.codingPath, debugDescription: sentence)
        )
    }

    /// A decoder for something inside this, by the same rule; `isPart` if what is read of it is
    /// noted here.
    func inner(
        _ value: JSONValue,
        at path: [any CodingKey],
        isPart: Bool,
        isPayload: Bool = false
    ) -> Self {
        Self(
            value: value,
            codingPath: path,
            rule: self.rule,
            isPayload: isPayload,
            inquiry: isPart ? self.inquiry?.inner() : nil
        )
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = self.value.elements else { throw self.mismatch([Any].self, "array") }
        return Unkeyed(decoder: self, elements: elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { self.value == .null }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decoded: Any? =
            switch type {
            case is Bool.Type: self.value.bool
            case is String.Type: self.value.string
            case let type as any FixedWidthInteger.Type: self.number { type.init($0, radix: 10) }
            case is Double.Type: self.number { Double($0).flatMap { $0.isFinite ? $0 : nil } }
            case is Float.Type: self.number { Float($0).flatMap { $0.isFinite ? $0 : nil } }
            case is Date.Type: try self.date()
            default: try self.whole(type)
            }
        guard let value = decoded as? Value else {
            throw self.mismatch(type, self.expectation(of: type))
        }
        return value
    }

    /// A value that decodes itself; refuses members that it does not know.
    private func whole<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let inquiry = JSONInquiry()
        let decoder = Self(
            value: self.value,
            codingPath: self.codingPath,
            rule: self.rule,
            isCase: isEnum(type),
            inquiry: inquiry
        )
        let value = try Value(from: decoder)
        try inquiry.check()
        return value
    }

    private func date() throws -> Date? {
        if case .number = self.value, self.rule == .recorded { return try Date(from: self) }
        return self.value.string.flatMap { WallTime(reading: $0) }.map { Date($0) }
    }

    private func number(_ convert: (String) -> Any?) -> Any? {
        guard case .number(let text) = self.value else { return nil }
        return convert(text)
    }

    /// What a value of that type must be, with the bounds if only those were violated.
    private func expectation(of type: Any.Type) -> String {
        if type is Date.Type { return "string, a time like 2026-11-20T21:55:03Z" }
        guard let fieldType = JSONFieldType(type) else { return "\(type)" }
        guard fieldType.admits(self.value) else { return fieldType.rawValue }
        if let integer = type as? any FixedWidthInteger.Type { return integer.expectation }
        return "\(fieldType.rawValue), within what a \(type) holds"
    }

    private func mismatch(_ type: Any.Type, _ expected: String) -> DecodingError {
        .typeMismatch(
            type,
            DecodingError.Context(codingPath: self.codingPath, debugDescription: expected)
        )
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let outer: JSONValueDecoder
        let members: [JSONMember]
        let values: JSONMembers
        /// Whether it is an enum's one case: then its value is the object of its values.
        let isCase: Bool
        var codingPath: [any CodingKey] { self.outer.codingPath }

        init(_ outer: JSONValueDecoder, _ members: [JSONMember]) {
            self.outer = outer
            self.members = members
            self.values = JSONMembers(members)
            self.isCase = false
            let isPayload = outer.isPayload
            outer.inquiry?.note(members, at: outer.codingPath) { name in
                Self.isKnown(name, amongValues: isPayload)
            }
        }

        init(_ outer: JSONValueDecoder, form: JSONCase) {
            self.outer = outer
            self.members = [JSONMember(form.name, form.data)]
            self.values = JSONMembers(self.members)
            self.isCase = true
        }

        /// Whether the type has a key of that name.
        private static func isKnown(_ name: String, amongValues isPayload: Bool) -> Bool {
            guard isPayload else { return Key(stringValue: name) != nil }
            if let key = Field.unlabelledKey(ofName: name), Key(stringValue: key) != nil {
                return true
            }
            return Field.name(ofKey: name) == name && Key(stringValue: name) != nil
        }

        var allKeys: [Key] { self.members.compactMap { Key(stringValue: $0.key) } }

        private func value(for key: Key) -> JSONValue? {
            guard !self.isCase else { return self.values[key.stringValue] }
            let isPayload = self.outer.isPayload
            let name = isPayload ? Field.name(ofKey: key.stringValue) : key.stringValue
            self.outer.inquiry?.ask(for: name)
            return self.values[name]
        }

        func contains(_ key: Key) -> Bool { self.value(for: key) != nil }

        func decodeNil(forKey key: Key) throws -> Bool {
            try !self.isCase && self.decoder(for: key).value == .null
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try self.decoder(for: key, isPart: self.isCase).decode(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            try self.decoder(for: key, isPart: true).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try self.decoder(for: key, isPart: true).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder { self.outer }

        func superDecoder(forKey key: Key) throws -> any Decoder {
            try self.decoder(for: key, isPart: true)
        }

        private func decoder(for key: Key, isPart: Bool = false) throws -> JSONValueDecoder {
            guard let value = self.value(for: key) else {
                throw DecodingError.keyNotFound(
                    key,
                    DecodingError.Context(codingPath: self.codingPath, debugDescription: "missing")
                )
            }
            let step: any CodingKey = self.isCase ? JSONCase.Key.data : key
            return self.outer.inner(
                value,
                at: self.codingPath + [step],
                isPart: isPart,
                isPayload: self.isCase
            )
        }
    }
}

extension FixedWidthInteger {
    fileprivate static var expectation: String { "integer, \(Self.min) to \(Self.max)" }
}

extension JSONValueDecoder {
    struct Unkeyed: UnkeyedDecodingContainer {
        let decoder: JSONValueDecoder
        let elements: [JSONValue]
        var currentIndex = 0
        var codingPath: [any CodingKey] { self.decoder.codingPath }

        var count: Int? { self.elements.count }
        var isAtEnd: Bool { self.currentIndex == self.elements.count }

        mutating func decodeNil() throws -> Bool {
            guard !self.isAtEnd, self.elements[self.currentIndex] == .null else { return false }
            self.currentIndex += 1
            return true
        }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try self.next().decode(type)
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> {
            try self.next(isPart: true).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try self.next(isPart: true).unkeyedContainer()
        }

        mutating func superDecoder() throws -> any Decoder { try self.next(isPart: true) }

        private mutating func next(isPart: Bool = false) throws -> JSONValueDecoder {
            guard !self.isAtEnd else {
                throw DecodingError.valueNotFound(
                    JSONMember.self,
                    DecodingError.Context(codingPath: self.codingPath, debugDescription: "missing")
                )
            }
            defer { self.currentIndex += 1 }
            return self.decoder.inner(
                self.elements[self.currentIndex],
                at: self.codingPath,
                isPart: isPart
            )
        }
    }
}

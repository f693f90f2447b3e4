extension JSONValue {
    /// The value of that type that this JSON encodes.
    ///
    /// - Throws: `DecodingError`; its coding path leads from `codingPath` to the member at fault.
    func decode<Value: Decodable>(
        _ type: Value.Type,
        at codingPath: [any CodingKey] = []
    ) throws -> Value {
        try JSONValueDecoder(value: self, codingPath: codingPath).decode(type)
    }
}

private struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let members = self.value.members else {
            throw self.mismatch(JSONMember.self, "object")
        }
        return KeyedDecodingContainer(Keyed<Key>(members, codingPath: self.codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = self.value.elements else { throw self.mismatch([Any].self, "array") }
        return Unkeyed(elements: elements, codingPath: self.codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { SingleValue(decoder: self) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decoded: Any? =
            switch type {
            case is Bool.Type: self.value.bool
            case is String.Type: self.value.string
            case let type as any FixedWidthInteger.Type: self.number { type.init($0, radix: 10) }
            case is Double.Type: self.number { Double($0).flatMap { $0.isFinite ? $0 : nil } }
            case is Float.Type: self.number { Float($0).flatMap { $0.isFinite ? $0 : nil } }
            default: try Value(from: self)
            }
        guard let value = decoded as? Value else {
            throw self.mismatch(type, self.expectation(of: type))
        }
        return value
    }

    private func number(_ convert: (String) -> Any?) -> Any? {
        guard case .number(let text) = self.value else { return nil }
        return convert(text)
    }

    /// What a value of that type must be, with its bounds where only they were missed.
    private func expectation(of type: Any.Type) -> String {
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
        let members: [JSONMember]
        let values: JSONMembers
        let codingPath: [any CodingKey]

        init(_ members: [JSONMember], codingPath: [any CodingKey]) {
            self.members = members
            self.values = JSONMembers(members)
            self.codingPath = codingPath
        }

        var allKeys: [Key] { self.members.compactMap { Key(stringValue: $0.key) } }

        func contains(_ key: Key) -> Bool { self.values[key.stringValue] != nil }

        func decodeNil(forKey key: Key) throws -> Bool { try self.decoder(for: key).value == .null }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try self.decoder(for: key).decode(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            try self.decoder(for: key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try self.decoder(for: key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder {
            JSONValueDecoder(value: .object(self.members), codingPath: self.codingPath)
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try self.decoder(for: key) }

        private func decoder(for key: Key) throws -> JSONValueDecoder {
            guard let value = self.values[key.stringValue] else {
                throw DecodingError.keyNotFound(
                    key,
                    DecodingError.Context(codingPath: self.codingPath, debugDescription: "missing")
                )
            }
            return JSONValueDecoder(value: value, codingPath: self.codingPath + [key])
        }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let elements: [JSONValue]
        let codingPath: [any CodingKey]
        var currentIndex = 0

        init(elements: [JSONValue], codingPath: [any CodingKey]) {
            self.elements = elements
            self.codingPath = codingPath
        }

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
            try self.next().container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try self.next().unkeyedContainer()
        }

        mutating func superDecoder() throws -> any Decoder { try self.next() }

        private mutating func next() throws -> JSONValueDecoder {
            guard !self.isAtEnd else {
                throw DecodingError.valueNotFound(
                    JSONMember.self,
                    DecodingError.Context(codingPath: self.codingPath, debugDescription: "missing")
                )
            }
            defer { self.currentIndex += 1 }
            return JSONValueDecoder(
                value: self.elements[self.currentIndex],
                codingPath: self.codingPath
            )
        }
    }

    private struct SingleValue: SingleValueDecodingContainer {
        let decoder: JSONValueDecoder
        var codingPath: [any CodingKey] { self.decoder.codingPath }

        func decodeNil() -> Bool { self.decoder.value == .null }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try self.decoder.decode(type)
        }
    }
}

extension FixedWidthInteger {
    fileprivate static var expectation: String { "integer, \(Self.min) to \(Self.max)" }
}

extension JSONValueDecoder {
    /// An enum's one case.
    struct Case<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: JSONValueDecoder
        let key: Key
        let data: JSONValue
        var codingPath: [any CodingKey] { self.decoder.codingPath }

        var allKeys: [Key] { [self.key] }

        func contains(_ key: Key) -> Bool { key.stringValue == self.key.stringValue }

        func decodeNil(forKey key: Key) -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try self.values(of: key).decode(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            try self.values(of: key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try self.values(of: key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder { self.decoder }

        func superDecoder(forKey key: Key) throws -> any Decoder { try self.values(of: key) }

        private func values(of key: Key) throws -> JSONValueDecoder {
            guard self.contains(key) else {
                throw DecodingError.keyNotFound(
                    key,
                    DecodingError.Context(codingPath: self.codingPath, debugDescription: "missing")
                )
            }
            let path = self.codingPath + [JSONCase.Key.data]
            return self.decoder.inner(self.data, at: path, isPart: true, isPayload: true)
        }
    }

    struct Unkeyed: UnkeyedDecodingContainer {
        let decoder: JSONValueDecoder
        let elements: [JSONValue]
        var currentIndex = 0
        var codingPath: [any CodingKey] { self.decoder.codingPath }

        init(decoder: JSONValueDecoder, elements: [JSONValue]) {
            self.decoder = decoder
            self.elements = elements
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

    struct SingleValue: SingleValueDecodingContainer {
        let decoder: JSONValueDecoder
        var codingPath: [any CodingKey] { self.decoder.codingPath }

        func decodeNil() -> Bool { self.decoder.value == .null }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try self.decoder.decode(type)
        }
    }
}

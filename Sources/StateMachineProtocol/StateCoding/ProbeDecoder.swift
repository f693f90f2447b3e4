/// Gives a decoding value made-up answers to whatever it asks for, and tells the probe what that
/// was.
struct ProbeDecoder: Decoder {
    /// How deep in a state the decoder is.
    enum Level {
        /// At the top, where the case is looked for.
        case state(String)
        /// In the case's associated values: each key asked for is a field.
        case payload
        /// Inside a value.
        case value
        /// At the top of an enum inside a value, where its case is looked for.
        case `case`(String)
    }

    let probe: StateProbe
    let level: Level
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        switch self.level {
        case .value, .case: self.probe.note(form: .object)
        case .state, .payload: break
        }
        return KeyedDecodingContainer(Keyed<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        if case .value = self.level { self.probe.note(form: .array) }
        return try Self.empty
    }

    /// An array without elements: whatever asks for one cannot be made up.
    private static var empty: any UnkeyedDecodingContainer {
        get throws {
            try JSONValueDecoder(value: [], codingPath: [], rule: .request).unkeyedContainer()
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: ProbeDecoder
        var codingPath: [any CodingKey] { [] }

        var allKeys: [Key] {
            switch self.decoder.level {
            case .state(let name):
                guard let key = Key(stringValue: name) else { return [] }
                self.decoder.probe.noteCase()
                return [key]
            case .case(let name): return Key(stringValue: name).map { [$0] } ?? []
            case .payload, .value: return []
            }
        }

        func contains(_ key: Key) -> Bool { true }

        /// Called for an optional value, before it is decoded.
        func decodeNil(forKey key: Key) -> Bool {
            guard case .payload = self.decoder.level else { return true }
            return self.decoder.probe.isNil(key.stringValue)
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            if case .payload = self.decoder.level {
                self.decoder.probe.note(key.stringValue, type)
                self.decoder.probe.evaluate(type, for: key)
            }
            return try self.decoder.probe.sample(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) -> KeyedDecodingContainer<Nested> {
            self.nested.container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try ProbeDecoder.empty
        }

        func superDecoder() -> any Decoder { self.nested }

        func superDecoder(forKey key: Key) -> any Decoder { self.nested }

        private var nested: ProbeDecoder {
            if case .state = self.decoder.level {
                return ProbeDecoder(probe: self.decoder.probe, level: .payload)
            }
            return ProbeDecoder(probe: self.decoder.probe, level: .value)
        }
    }

    private struct Single: SingleValueDecodingContainer {
        let decoder: ProbeDecoder
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            self.decoder.probe.note(form: StateProbe.form(of: type))
            return try self.decoder.probe.sample(type)
        }
    }
}

import StateMachineCore

/// Finds out what a case of an enum carries: a decoder that hands out made-up values and notes what
/// it was asked for.
final class StateProbe {
    /// Which of the values that a field can have is handed out: values are taken in turn, so that
    /// successive rounds show what depends on them.
    private let round: Int
    private(set) var fields: [StateField] = []

    private init(round: Int) {
        self.round = round
    }

    static func probe<State: MachineState>(
        _ name: String,
        of type: State.Type
    ) -> (fields: [StateField], samples: [State]) {
        var fields: [StateField] = []
        var samples: [State] = []
        var rounds = 1
        var round = 0
        while round < rounds {
            let probe = StateProbe(round: round)
            // A case that cannot be made up has no sample; its fields up to there are known.
            if let sample = try? State(from: ProbeDecoder(probe: probe, level: .state(name))) {
                samples.append(sample)
            }
            fields = probe.fields
            rounds = fields.map(\.values.count).max() ?? 1
            round += 1
        }
        return (fields, samples)
    }

    /// A made-up value of that type, and what it looks like in JSON.
    func sample<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let all = (type as? any CaseIterable.Type)?.everyCase, !all.isEmpty,
            let value = all[self.round % all.count] as? Value
        {
            return value
        }
        let made: Any? =
            switch type {
            case is Bool.Type: self.round % 2 == 1
            case is String.Type: ""
            case let type as any FixedWidthInteger.Type: type.init(exactly: 0)
            case is Double.Type: Double(0)
            case is Float.Type: Float(0)
            default: try Value(from: ProbeDecoder(probe: self, level: .value))
            }
        guard let value = made as? Value else { throw ProbeError.cannotMakeUp }
        return value
    }

    func note<Value: Decodable>(_ key: String, _ type: Value.Type, isOptional: Bool) {
        var values: [JSONValue] = []
        if type == Bool.self { values = [.bool(false), .bool(true)] }
        if let all = (type as? any CaseIterable.Type)?.everyCase {
            values = all.compactMap { value in
                // What does not encode is not on the list.
                (value as? any Encodable).flatMap { try? JSONValue(encoding: $0) }
            }
        }
        let fieldType = JSONFieldType(type) ?? values.first.flatMap { JSONFieldType($0) }
        self.fields.append(
            StateField(
                key: key,
                type: fieldType ?? self.structure(of: type),
                values: values,
                isOptional: isOptional
            )
        )
    }

    private func structure<Value: Decodable>(of type: Value.Type) -> JSONFieldType {
        let probe = StateProbe(round: 0)
        guard let value = try? probe.sample(type), let encodable = value as? any Encodable,
            let json = try? JSONValue(encoding: encodable)
        else {
            // A type that takes only some strings, most likely; it says what it takes when it is set.
            return .string
        }
        return JSONFieldType(json) ?? .string
    }
}

private enum ProbeError: Error {
    case cannotMakeUp
}

extension CaseIterable {
    fileprivate static var everyCase: [Any] { Array(self.allCases) }
}

private struct ProbeDecoder: Decoder {
    /// How deep in a state the decoder stands.
    enum Level {
        /// At the top, where the case is looked for.
        case state(String)
        /// In the case's associated values: what is asked for here is a field.
        case payload
        /// Inside a value.
        case value
    }

    let probe: StateProbe
    let level: Level
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Keyed<Key>(decoder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { Empty() }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: ProbeDecoder
        var codingPath: [any CodingKey] { [] }

        var allKeys: [Key] {
            guard case .state(let name) = self.decoder.level else { return [] }
            return Key(stringValue: name).map { [$0] } ?? []
        }

        func contains(_ key: Key) -> Bool { true }

        func decodeNil(forKey key: Key) -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            if case .payload = self.decoder.level {
                self.decoder.probe.note(key.stringValue, type, isOptional: false)
            }
            return try self.decoder.probe.sample(type)
        }

        func decodeIfPresent<Value: Decodable>(
            _ type: Value.Type,
            forKey key: Key
        ) -> Value? {
            if case .payload = self.decoder.level {
                self.decoder.probe.note(key.stringValue, type, isOptional: true)
            }
            return nil
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) -> KeyedDecodingContainer<Nested> {
            self.nested.container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { Empty() }

        func superDecoder() -> any Decoder { self.nested }

        func superDecoder(forKey key: Key) -> any Decoder { self.nested }

        private var nested: ProbeDecoder {
            if case .state = self.decoder.level {
                return ProbeDecoder(probe: self.decoder.probe, level: .payload)
            }
            return ProbeDecoder(probe: self.decoder.probe, level: .value)
        }
    }

    private struct Empty: UnkeyedDecodingContainer {
        var codingPath: [any CodingKey] { [] }
        var count: Int? { 0 }
        var isAtEnd: Bool { true }
        var currentIndex: Int { 0 }

        func decodeNil() throws -> Bool { throw ProbeError.cannotMakeUp }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            throw ProbeError.cannotMakeUp
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> {
            throw ProbeError.cannotMakeUp
        }

        func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            throw ProbeError.cannotMakeUp
        }

        func superDecoder() throws -> any Decoder { throw ProbeError.cannotMakeUp }
    }

    private struct Single: SingleValueDecodingContainer {
        let decoder: ProbeDecoder
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try self.decoder.probe.sample(type)
        }
    }
}

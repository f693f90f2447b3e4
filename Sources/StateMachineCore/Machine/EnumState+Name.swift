extension EnumState {
    /// The case as `Codable` writes it: an enum is encoded under the name of its case.
    ///
    /// It saves writing the `switch`. For this, a state is encoded once for each case of the type.
    /// A case that ``MachineState/Name`` does not list is a programming error and ends the process
    /// when it is first entered.
    public var name: Name {
        guard let tag = EnumCases.tag(of: self) else { return self.encodedName }
        return CaseCache.value(of: Self.self, tag: tag) { self.encodedName }
    }

    var encodedName: Name {
        let encoder = CaseEncoder()
        do {
            try self.encode(to: encoder)
        } catch {
            preconditionFailure("\(Self.self) does not say which case it is: \(error)")
        }
        guard let name = encoder.key.flatMap(Name.init(rawValue:)) else {
            preconditionFailure(
                "\(Self.self) is in \(encoder.key ?? "no case"), which \(Name.self) does not list"
            )
        }
        return name
    }
}

/// Records the key that a state is encoded under, and nothing else.
private final class CaseEncoder: Encoder {
    fileprivate(set) var key: String?

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(CaseContainer<Key>(encoder: self, isOutermost: true))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { Ignored(encoder: self) }
    func singleValueContainer() -> any SingleValueEncodingContainer { Ignored(encoder: self) }
}

/// Records the case's key if it is the outermost container; inner ones hold what the case carries.
private struct CaseContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: CaseEncoder
    let isOutermost: Bool

    var codingPath: [any CodingKey] { [] }

    private func note(_ key: Key) { if self.isOutermost { self.encoder.key = key.stringValue } }

    mutating func encodeNil(forKey key: Key) { self.note(key) }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) { self.note(key) }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        self.note(key)
        return KeyedEncodingContainer(
            CaseContainer<Nested>(encoder: self.encoder, isOutermost: false)
        )
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        self.note(key)
        return Ignored(encoder: self.encoder)
    }

    mutating func superEncoder() -> any Encoder { self.encoder }
    mutating func superEncoder(forKey key: Key) -> any Encoder { self.encoder }
}

/// A container without keys; an enum with raw values is encoded in one, and its raw value is its
/// key.
private struct Ignored: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let encoder: CaseEncoder

    var codingPath: [any CodingKey] { [] }
    var count: Int { 0 }

    mutating func encodeNil() {}
    mutating func encode<T: Encodable>(_ value: T) {
        if let name = value as? String { self.encoder.key = self.encoder.key ?? name }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(CaseContainer<Nested>(encoder: self.encoder, isOutermost: false))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
    mutating func superEncoder() -> any Encoder { self.encoder }
}

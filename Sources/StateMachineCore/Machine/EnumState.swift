/// A state that is shown to others or kept: a case of an enum, each case with the data that applies
/// to it.
///
/// The `Codable` conformance is the one that the compiler writes; it gives a state its form on the
/// wire. Equality includes the associated values, ``MachineState/name`` leaves them out.
///
/// An enum may have a `Name` of its own, with the same cases, which the compiler then checks
/// wherever one is named. A daemon does not start if the cases differ.
public protocol EnumState: MachineState, Hashable, Codable, CustomStringConvertible {
    /// The names of the cases; strings unless the enum has its own.
    associatedtype Name = CaseName<Self>

    /// The state that a machine is in before anybody has set one. It is never announced.
    static var initial: Self { get }

    /// At least one state of each case, in the order in which the cases are described.
    ///
    /// They are encoded, and what is encoded says what the cases and their values are called, of which types the
    /// values are and which are optional; the values themselves do not matter. An optional value of a type of one's own needs
    /// an example that has it. Where the successors depend on the values, there are more examples of a case, to show
    /// them all. A daemon does not start if a case is missing.
    static var examples: [Self] { get }

    /// The names that states and fields had in earlier versions of the program, by their present
    /// names, as on the wire: a state by its name, a field as `state.field`; empty by default.
    ///
    /// A state left by an earlier version goes on under its new name.
    static var was: [String: [String]] { get }

    /// The state to start in if the state that was left no longer exists, or its values do not fit;
    /// nil, the default, refuses to start.
    static var lost: Self? { get }
}

extension EnumState {
    /// The state as one would write it, as in `failed(code: 3, retries: nil)`.
    public var description: String {
        guard let payload = Mirror(reflecting: self).children.first?.value else {
            return self.name.rawValue
        }
        let fields = Mirror(reflecting: payload)
        guard fields.displayStyle == .tuple else {
            return "\(self.name.rawValue)(\(written(payload)))"
        }
        let list = fields.children.map { label, value in
            // The compiler labels unnamed values `.0`, `.1` and so on.
            guard let label, !label.hasPrefix(".") else { return written(value) }
            return "\(label): \(written(value))"
        }
        return "\(self.name.rawValue)(\(list.joined(separator: ", ")))"
    }

    /// Nothing has been renamed.
    public static var was: [String: [String]] { [:] }

    /// Refuses to start if the state that was left is unknown.
    public static var lost: Self? { nil }
}

extension StateMachine where State: EnumState {
    /// A machine in the type's initial state.
    public convenience init(options: Options = Options()) {
        self.init(.initial, options: options)
    }
}

/// A value as one would write it: strings in quotes, and a missing value as nil.
private func written(_ value: Any) -> String {
    if let text = value as? String { return String(reflecting: text) }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return String(describing: value) }
    return mirror.children.first.map { written($0.value) } ?? "nil"
}

extension EnumState {
    /// The case as `Codable` writes it: an enum is encoded under the name of its case.
    ///
    /// It saves writing the `switch`, which takes less time: for each case one state is encoded, once. A case that
    /// ``MachineState/Name`` does not list is a programming error and ends the process when it is named.
    @inlinable public var name: Name { CaseNames.name(of: self) { self.encodedName } }

    @usableFromInline var encodedName: String {
        do {
            guard let name = try CaseReader(self, withFields: false).name else {
                preconditionFailure("\(Self.self) is in no case that \(Name.self) lists")
            }
            return name
        } catch {
            preconditionFailure("\(Self.self) did not encode which case it is: \(error)")
        }
    }
}

/// Which case a state is, and what that case carries, read by letting the state encode itself.
package final class CaseReader: Encoder {
    /// A value that the case carries.
    package struct Field {
        /// Its label, or `_0`, `_1` … without one.
        package let key: String
        /// Of the value, not of the optional that it may be in.
        package let type: any Encodable.Type
        package let isOptional: Bool
        /// Nil if the state does not have it.
        package let value: (any Encodable)?
    }

    /// The name of the case, as it is encoded; nil if that is under none.
    package fileprivate(set) var name: String?
    /// In the order in which they are encoded.
    package fileprivate(set) var fields: [Field] = []

    package var codingPath: [any CodingKey] { [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    private let withFields: Bool

    package init(_ state: some Encodable, withFields: Bool = true) throws {
        self.withFields = withFields
        try state.encode(to: self)
    }

    fileprivate func note<T: Encodable>(_ key: String, _ value: T?, isOptional: Bool) {
        guard self.withFields else { return }
        self.fields.append(Field(key: key, type: T.self, isOptional: isOptional, value: value))
    }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(CaseContainer<Key>(reader: self, isOutermost: true))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer { Ignored(reader: self) }
    package func singleValueContainer() -> any SingleValueEncodingContainer {
        Ignored(reader: self)
    }
}

/// Of the outermost container the key is the case's name; the one inside holds what the case carries.
private struct CaseContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let reader: CaseReader
    let isOutermost: Bool

    var codingPath: [any CodingKey] { [] }

    private func note<T: Encodable>(_ key: Key, _ value: T?, isOptional: Bool = false) {
        guard !self.isOutermost else {
            self.reader.name = key.stringValue
            return
        }
        self.reader.note(key.stringValue, value, isOptional: isOptional)
    }

    func encodeNil(forKey key: Key) { if self.isOutermost { self.reader.name = key.stringValue } }
    func encode<T: Encodable>(_ value: T, forKey key: Key) { self.note(key, value) }

    // The standard library's own versions leave out what is nil. One for all types would not replace them.
    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: Int128?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt128?, forKey key: Key) { self.present(value, key) }

    private func present<T: Encodable>(_ value: T?, _ key: Key) {
        self.note(key, value, isOptional: true)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        if self.isOutermost { self.reader.name = key.stringValue }
        return KeyedEncodingContainer(
            CaseContainer<Nested>(reader: self.reader, isOutermost: false)
        )
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        if self.isOutermost { self.reader.name = key.stringValue }
        return Ignored(reader: self.reader)
    }

    func superEncoder() -> any Encoder { self.reader }
    func superEncoder(forKey key: Key) -> any Encoder { self.reader }
}

/// A container without keys; an enum with raw values is encoded in one, and its raw value is its
/// name.
private struct Ignored: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let reader: CaseReader

    var codingPath: [any CodingKey] { [] }
    var count: Int { 0 }

    func encodeNil() {}
    func encode<T: Encodable>(_ value: T) {
        if let name = value as? String { self.reader.name = self.reader.name ?? name }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(CaseContainer<Nested>(reader: self.reader, isOutermost: false))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
    func superEncoder() -> any Encoder { self.reader }
}

/// The name of an enum's case: the ``MachineState/Name`` of states that have none of their own.
///
/// Written as a string: an enum's own `Name` has `[.serving]` where this has `["serving"]`. A
/// string that names no case is reported when a daemon starts.
public struct CaseName<State>: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, as in the source and on the wire.
    public let rawValue: String

    /// The name of a case; not checked.
    @inlinable public init(rawValue: String) { self.rawValue = rawValue }

    /// The name of a case, written out.
    @inlinable public init(stringLiteral name: String) { self.rawValue = name }
}

extension CaseName {
    /// Whatever the state is called: among ``MachineState/successors`` it says that every state may follow.
    @inlinable public static var any: CaseName { CaseName(rawValue: Value.any) }
}

extension CaseName: CustomStringConvertible {
    /// The name.
    public var description: String { self.rawValue }
}

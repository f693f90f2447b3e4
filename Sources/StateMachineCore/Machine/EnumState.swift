internal import Synchronization

/// A state that is shown to others or kept: a case of an enum, each case with the data that applies
/// to it.
///
/// The `Codable` conformance is the one that the compiler writes; it gives a state its form on the
/// wire. Equality includes the associated values, ``MachineState/name`` leaves them out.
///
/// An enum may have a `Name` of its own, with the same cases, which the compiler then checks
/// wherever one is named. A daemon does not start if the cases differ.
public protocol EnumState: MachineState, Hashable, Codable, CustomStringConvertible
where Name: CaseIterable {
    /// The names of the cases; read from the enum unless it has its own.
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
    /// It saves writing the `switch`. For this, a state is encoded once for each case of the type.
    /// A case that ``MachineState/Name`` does not list is a programming error and ends the process
    /// when it is first entered.
    public var name: Name {
        guard let tag = EnumCases.tag(of: self) else { return self.encodedName }
        return CaseCache.value(of: Self.self, tag: tag) { self.encodedName }
    }

    var encodedName: Name {
        let reader: CaseReader
        do {
            reader = try CaseReader(self)
        } catch {
            preconditionFailure("\(Self.self) did not encode which case it is: \(error)")
        }
        guard let name = reader.name.flatMap(Name.init(rawValue:)) else {
            preconditionFailure(
                "\(Self.self) is in \(reader.name ?? "no case"), which \(Name.self) does not list"
            )
        }
        return name
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

    package init(_ state: some Encodable) throws { try state.encode(to: self) }

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
        let field = CaseReader.Field(
            key: key.stringValue,
            type: T.self,
            isOptional: isOptional,
            value: value
        )
        self.reader.fields.append(field)
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
    func encodeIfPresent(_ value: UInt?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) { self.present(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) { self.present(value, key) }

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

/// The names of an enum's cases, read from the type itself, where the compiler stores them for
/// mirrors.
///
/// Mirrors only give the name of a value's case; here there is no value. The layout is that of
/// Swift's ABI (docs/ABI/TypeMetadata.rst of the compiler): it is the same on all platforms.
package enum EnumCases {
    /// Whether the type is an enum; optionals do not count.
    package static func isEnum(_ type: Any.Type) -> Bool {
        // The first word is the metadata kind: 0x201 for an enum, 0x202 for an optional.
        unsafeBitCast(type, to: UnsafeRawPointer.self).load(as: UInt.self) == 0x201
    }

    /// Which of the cases a value is, counted as ``names(of:)`` lists them; nil if it is not an
    /// enum.
    ///
    /// Calls what the compiler's own mirrors call: the type's `getEnumTag`, which follows the size
    /// and flags in its value witness table (docs/ABI/TypeLayout.rst, lib/IRGen/ValueWitness.h).
    package static func tag<Value>(of value: Value) -> UInt32? {
        guard self.isEnum(Value.self) else { return nil }
        let metadata = unsafeBitCast(Value.self, to: UnsafeRawPointer.self)
        let word = MemoryLayout<UInt>.size
        let witnesses = metadata.load(fromByteOffset: -word, as: UnsafeRawPointer.self)
        // Eight functions, the size and the stride come before the flags.
        let flags = witnesses.load(fromByteOffset: 10 * word, as: UInt32.self)
        guard flags & self.hasEnumWitnesses != 0 else { return nil }
        typealias GetEnumTag = @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> UInt32
        let getEnumTag = witnesses.load(fromByteOffset: 10 * word + 8, as: GetEnumTag.self)
        return withUnsafePointer(to: value) { getEnumTag($0, metadata) }
    }

    package static var hasEnumWitnesses: UInt32 { 0x0020_0000 }

    /// The names: cases with values first, then the others, each in source order.
    ///
    /// - Returns: nil if the type is not an enum, or if the program was built without the metadata
    ///   that mirrors read (`-disable-reflection-metadata`).
    package static func names(of type: Any.Type) -> [String]? {
        guard self.isEnum(type) else { return nil }
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        let word = MemoryLayout<UInt>.size
        let descriptor = metadata.load(fromByteOffset: word, as: UnsafeRawPointer.self)
        // The lower five bits of the flags are the kind again.
        guard descriptor.load(as: UInt32.self) & 0x1F == 18,
            let fields = descriptor.pointee(at: 16)
        else { return nil }
        let payloads = descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF
        let empties = descriptor.load(fromByteOffset: 24, as: UInt32.self)
        let size = Int(fields.load(fromByteOffset: 10, as: UInt16.self))
        let count = fields.load(fromByteOffset: 12, as: UInt32.self)
        guard count == payloads + empties, size == 12 else { return nil }
        var names: [String] = []
        for index in 0..<Int(count) {
            // A field record: flags, the type of the values, the name.
            guard let name = fields.pointee(at: 16 + index * size + 8) else { return nil }
            names.append(String(cString: name.assumingMemoryBound(to: CChar.self)))
        }
        return names
    }
}

extension UnsafeRawPointer {
    /// What a relative pointer points to; nil if nothing.
    fileprivate func pointee(at offset: Int) -> UnsafeRawPointer? {
        let place = self + offset
        let distance = place.load(as: Int32.self)
        return distance == 0 ? nil : place + Int(distance)
    }
}

/// What has been found out about the cases of enums, once for each case of each type, for good.
///
/// A table that only grows: a lookup takes no lock and counts no reference.
enum CaseCache {
    /// The contents of a place in the table: about one case, or with ``wholeType`` about all.
    class Entry: @unchecked Sendable {
        final let type: ObjectIdentifier
        final let tag: UInt32

        init(_ type: ObjectIdentifier, _ tag: UInt32) {
            self.type = type
            self.tag = tag
        }
    }

    /// `@unchecked Sendable`: never changed.
    final class Found<Value: Sendable>: Entry, @unchecked Sendable {
        let value: Value

        init(_ value: Value, _ type: ObjectIdentifier, _ tag: UInt32) {
            self.value = value
            super.init(type, tag)
        }
    }

    struct Place: ~Copyable {
        let entry = Atomic<Unmanaged<Entry>?>(nil)

        init() {}
    }

    /// The tag for what is true of all cases; no enum has that many.
    static var wholeType: UInt32 { .max }

    /// Room for the enums of any program.
    ///
    /// What finds no free place among the eight that are looked at is computed each time. Not
    /// tuned.
    static var count: Int { 512 }
    static var lookedAt: Int { 8 }

    /// Never freed; readers and writers only go through its atomics.
    nonisolated(unsafe) static let places: UnsafeMutablePointer<Place> = {
        let places = UnsafeMutablePointer<Place>.allocate(capacity: count)
        for index in 0..<count { (places + index).initialize(to: Place()) }
        return places
    }()

    /// The value for a case of `type`, found now if it was not before.
    ///
    /// A type and tag are always looked up with the same `Value`.
    static func value<Value: Sendable>(
        of type: any Any.Type,
        tag: UInt32,
        finding find: () -> Value
    ) -> Value {
        let identity = ObjectIdentifier(type)
        // Type metadata is aligned to eight bytes.
        let first = Int(bitPattern: identity) >> 3 &+ Int(truncatingIfNeeded: tag)
        for index in first..<first + self.lookedAt {
            let place = self.places + (index & (self.count - 1))
            guard let entry = place.pointee.entry.load(ordering: .acquiring) else {
                return self.note(find(), identity, tag, at: place)
            }
            let found: Value? = entry._withUnsafeGuaranteedRef { entry in
                guard entry.type == identity, entry.tag == tag else { return nil }
                return unsafeDowncast(entry, to: Found<Value>.self).value
            }
            if let found { return found }
        }
        return find()
    }

    /// Stores a value; a thread that is too late finds the other's at its next lookup.
    static func note<Value: Sendable>(
        _ value: Value,
        _ type: ObjectIdentifier,
        _ tag: UInt32,
        at place: UnsafeMutablePointer<Place>
    ) -> Value {
        let entry = Unmanaged<Entry>.passRetained(Found(value, type, tag))
        let isNoted = place.pointee.entry.compareExchange(
            expected: nil,
            desired: entry,
            ordering: .acquiringAndReleasing
        ).exchanged
        if !isNoted { entry.release() }
        return value
    }
}

/// The name of an enum's case: the ``MachineState/Name`` of states that have none of their own.
///
/// Written as a string: an enum's own `Name` has `[.serving]` where this has `["serving"]`. A
/// string that names no case is reported when a daemon starts.
public struct CaseName<State>: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, as in the source and on the wire.
    public let rawValue: String

    /// The name of a case; not checked.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name of a case, written out.
    public init(stringLiteral name: String) { self.rawValue = name }
}

extension CaseName: CustomStringConvertible {
    /// The name.
    public var description: String { self.rawValue }
}

extension CaseName: CaseIterable {
    /// All cases of the enum, those with values first; read from the type at each call.
    ///
    /// Empty for a type that is not an enum, and in a program built with
    /// `-disable-reflection-metadata`; then a daemon does not start, and says so.
    public static var allCases: [CaseName<State>] {
        (EnumCases.names(of: State.self) ?? []).map { CaseName(rawValue: $0) }
    }
}

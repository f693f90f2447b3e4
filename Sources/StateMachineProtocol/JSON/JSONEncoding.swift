import FoundationEssentials
import StateMachineCore

extension JSONValue {
    /// What `value` encodes itself to, with members in the order of encoding.
    ///
    /// Dictionaries and sets have no order of their own; they are sorted, for equal states must be
    /// equal bytes.
    ///
    /// A number that JSON cannot write (infinite, or not a number) becomes null.
    init(encoding value: some Encodable) throws {
        let node = JSONNode()
        try node.encode(value)
        self = node.value
    }
}

/// A place in the tree that an encoding value fills: it asks for one container and writes to it.
private final class JSONNode {
    private enum Content {
        case value(JSONValue)
        /// The members of an object, or the elements of an array, whose keys are empty.
        case children([(key: String, node: JSONNode)], isArray: Bool)
    }

    /// Whether an object was requested under a key, rather than a value encoded: so with an enum's
    /// cases.
    private var isNested = false
    private var content = Content.value(.object([]))

    var value: JSONValue {
        switch self.content {
        case .value(let value): value
        case .children(let children, isArray: true): .array(children.map(\.node.value))
        case .children(let children, isArray: false):
            .object(children.map { JSONMember($0.key, $0.node.value) })
        }
    }

    var count: Int {
        switch self.content {
        case .value: 0
        case .children(let children, _): children.count
        }
    }

    func set(_ value: JSONValue) { self.content = .value(value) }

    func become(isArray: Bool) {
        if case .children(_, isArray) = self.content { return }
        self.content = .children([], isArray: isArray)
    }

    /// A node for the next element, or for the value under a key; `isNested` if the caller goes on to write an object
    /// there.
    func child(for key: String = "", isNested: Bool = false) -> JSONNode {
        let node = JSONNode()
        node.isNested = isNested
        if case .children(var children, let isArray) = self.content {
            self.content = .value(.null)
            children.append((key, node))
            self.content = .children(children, isArray: isArray)
        }
        return node
    }

    func encode(_ value: some Encodable) throws {
        switch value {
        case let bool as Bool: self.set(.bool(bool))
        case let string as String: self.set(.string(string))
        case let integer as any FixedWidthInteger: self.set(.number(integer.description))
        case let number as any BinaryFloatingPoint & LosslessStringConvertible:
            let isFinite = number.isFinite
            self.set(isFinite ? .number(number.description) : .null)
        case let date as Date: self.set(.string(WallTime(date).rfc3339))
        default:
            try value.encode(to: JSONNodeEncoder(node: self))
            self.nameCase(of: type(of: value))
            if let unordered = value as? any HashOrdered { self.sort(unordered.elementWidth) }
        }
    }

    /// Turns a case in the compiler's encoding into its wire form.
    private func nameCase(of type: Any.Type) {
        guard case .children(let members, isArray: false) = self.content, members.count == 1,
            members[0].node.isNested,
            isEnum(type)
        else { return }
        let values = members[0].node.value.members ?? []
        self.content = .value(JSONCase(written: members[0].key, values).value)
    }

    /// Sorts members by key, and elements by their JSON, `width` of them at a time.
    private func sort(_ width: Int) {
        switch self.content {
        case .value: break
        case .children(let members, isArray: false):
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            self.content = .children(sorted, isArray: false)
        case .children(let elements, isArray: true):
            let starts = stride(from: 0, to: elements.count, by: width)
            let groups = starts.map { start in
                let nodes = elements[start..<start + width]
                return (text: [elements[start].node.value].listed, nodes: nodes)
            }
            let sorted = groups.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
            self.content = .children(sorted.flatMap(\.nodes), isArray: true)
        }
    }
}

/// A collection in hash order, which differs between equal ones.
private protocol HashOrdered {
    /// How many elements belong together where it is encoded as an array.
    var elementWidth: Int { get }
}

extension Dictionary: HashOrdered {
    fileprivate var elementWidth: Int { 2 }
}

extension Set: HashOrdered {
    fileprivate var elementWidth: Int { 1 }
}

private struct JSONNodeEncoder: Encoder, SingleValueEncodingContainer {
    let node: JSONNode
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        self.node.become(isArray: false)
        return KeyedEncodingContainer(Keyed<Key>(node: self.node))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        self.node.become(isArray: true)
        return Unkeyed(node: self.node)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { self.node.set(.null) }

    func encode(_ value: some Encodable) throws { try self.node.encode(value) }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let node: JSONNode
        var codingPath: [any CodingKey] { [] }

        func encodeNil(forKey key: Key) { self.node.child(for: key.stringValue).set(.null) }

        func encode(_ value: some Encodable, forKey key: Key) throws {
            try self.node.child(for: key.stringValue).encode(value)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            let node = self.node.child(for: key.stringValue, isNested: true)
            return JSONNodeEncoder(node: node).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            self.encoder(for: key.stringValue).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { self.encoder(for: "super") }

        func superEncoder(forKey key: Key) -> any Encoder { self.encoder(for: key.stringValue) }

        private func encoder(for key: String) -> JSONNodeEncoder {
            JSONNodeEncoder(node: self.node.child(for: key))
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let node: JSONNode
        var codingPath: [any CodingKey] { [] }
        var count: Int { self.node.count }

        func encodeNil() { self.node.child().set(.null) }

        func encode(_ value: some Encodable) throws { try self.node.child().encode(value) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedEncodingContainer<Nested> {
            JSONNodeEncoder(node: self.node.child()).container(keyedBy: type)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            JSONNodeEncoder(node: self.node.child()).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { JSONNodeEncoder(node: self.node.child()) }
    }
}

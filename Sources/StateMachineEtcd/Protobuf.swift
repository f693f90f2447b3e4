#if Cluster
/// Writes the fields of a message as protobuf's encoding has them: only what a message of etcd's needs.
///
/// A number that is 0, and bytes that are empty, are not written: that is what a reader takes for granted.
package struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ field: UInt64, _ value: Int64) {
        if value != 0 { self.writeAlways(field, value) }
    }

    /// Writes it even if it is 0: in a `oneof` it says which one.
    mutating func writeAlways(_ field: UInt64, _ value: Int64) {
        self.varint(field << 3 | ProtobufField.numberType)
        self.varint(UInt64(bitPattern: value))
    }

    mutating func write(_ field: UInt64, _ value: Bool) { self.write(field, value ? 1 : 0) }

    mutating func write(_ field: UInt64, _ value: [UInt8]) {
        if !value.isEmpty { self.writeAlways(field, value) }
    }

    mutating func writeAlways(_ field: UInt64, _ value: [UInt8]) {
        self.varint(field << 3 | ProtobufField.bytesType)
        self.varint(UInt64(value.count))
        self.bytes += value
    }

    /// Writes a message inside this one.
    mutating func write(_ field: UInt64, _ message: (inout Self) -> Void) {
        var inner = Self()
        message(&inner)
        self.writeAlways(field, inner.bytes)
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }
}

/// What came is not what etcd sends.
package struct Malformed: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// One field of a message that was read.
package struct ProtobufField {
    static let numberType: UInt64 = 0
    static let bytesType: UInt64 = 2

    enum Content {
        case number(UInt64)
        case bytes(ArraySlice<UInt8>)
    }

    let field: UInt64
    let content: Content

    var number: Int64 {
        get throws(Malformed) { Int64(bitPattern: try self.unsigned) }
    }

    var unsigned: UInt64 {
        get throws(Malformed) {
            guard case .number(let number) = self.content else {
                throw Malformed("field \(self.field) is no number")
            }
            return number
        }
    }

    var flag: Bool {
        get throws(Malformed) { try self.unsigned != 0 }
    }

    var slice: ArraySlice<UInt8> {
        get throws(Malformed) {
            guard case .bytes(let bytes) = self.content else {
                throw Malformed("field \(self.field) is a number, and should be bytes")
            }
            return bytes
        }
    }

    var bytes: [UInt8] {
        get throws(Malformed) { Array(try self.slice) }
    }

    var text: String {
        get throws(Malformed) { String(decoding: try self.slice, as: UTF8.self) }
    }

    func message<Message: EtcdMessage>() throws(Malformed) -> Message {
        try Message(try self.slice)
    }
}

/// Reads the fields of a message, one after the other.
package struct ProtobufReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.rest = bytes }

    /// The next field; nil at the end.
    mutating func next() throws(Malformed) -> ProtobufField? {
        guard !self.rest.isEmpty else { return nil }
        let tag = try self.varint()
        let (field, type) = (tag >> 3, tag & 7)
        // 2^29 − 1 is the largest that protobuf allows.
        guard (1..<1 << 29).contains(field) else { throw Malformed("there is no field \(field)") }
        switch type {
        case ProtobufField.numberType:
            return ProtobufField(field: field, content: .number(try self.varint()))
        case ProtobufField.bytesType:
            let bytes = try self.take(try self.varint())
            return ProtobufField(field: field, content: .bytes(bytes))
        // Numbers of 8 and of 4 bytes: etcd has none, but a later one may.
        case 1: return ProtobufField(field: field, content: .bytes(try self.take(8)))
        case 5: return ProtobufField(field: field, content: .bytes(try self.take(4)))
        default: throw Malformed("field \(field) is of type \(type), which there is not")
        }
    }

    private mutating func take(_ count: UInt64) throws(Malformed) -> ArraySlice<UInt8> {
        guard count <= UInt64(self.rest.count) else { throw Malformed("a field ends early") }
        defer { self.rest = self.rest.dropFirst(Int(count)) }
        return self.rest.prefix(Int(count))
    }

    private mutating func varint() throws(Malformed) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while let byte = self.rest.popFirst() {
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || shift == 63 && bits <= 1 else { break }
            value |= bits << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw Malformed("a number does not end, or is too large")
    }
}
#endif

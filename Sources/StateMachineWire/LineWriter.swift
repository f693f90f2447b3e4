package import StateMachineCore

/// Writes one server line, key by key; the order is the caller's, which is ``ServerLine``.
package struct LineWriter: Sendable {
    private var bytes: [UInt8]

    /// Begins a line of its own.
    package init(_ type: StaticString, id: RequestID?) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        self.init(type, id: id, taking: &bytes)
    }

    /// Begins a line at the end of `bytes`, which come back with it from ``line()``.
    ///
    /// They are taken, for if anybody else had them too, the first append would copy them all.
    init(_ type: StaticString, id: RequestID?, taking bytes: inout [UInt8]) {
        self.bytes = exchange(&bytes, with: [])
        self.bytes.append(text: "{\"type\":\"")
        self.bytes.append(text: type)
        self.bytes.append(UInt8(ascii: "\""))
        switch id {
        case nil: break
        case .integer(let integer): self.number("id", integer)
        case .string(let string): self.string("id", string)
        }
    }

    /// Put together on the stack, for each append to an array costs more than the bytes.
    private mutating func key(_ name: StaticString) {
        let length = name.utf8CodeUnitCount
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length + 4) { key in
            key[0] = UInt8(ascii: ",")
            key[1] = UInt8(ascii: "\"")
            for index in 0..<length { key[index + 2] = name.utf8Start[index] }
            key[length + 2] = UInt8(ascii: "\"")
            key[length + 3] = UInt8(ascii: ":")
            self.bytes.append(contentsOf: UnsafeBufferPointer(key))
        }
    }

    package mutating func bool(_ name: StaticString, _ value: Bool) {
        self.key(name)
        self.bytes.append(text: value ? "true" : "false")
    }

    package mutating func number(_ name: StaticString, _ value: some BinaryInteger) {
        self.key(name)
        self.bytes.append(decimal: value)
    }

    package mutating func string(_ name: StaticString, _ value: String) {
        self.key(name)
        self.bytes.append(jsonString: value)
    }

    package mutating func json(_ name: StaticString, _ value: JSONValue) {
        self.key(name)
        self.bytes.append(json: value)
    }

    package mutating func time(_ name: StaticString, _ value: WallTime) {
        self.key(name)
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(time: value)
        self.bytes.append(UInt8(ascii: "\""))
    }

    /// Members that are encoded already, without braces.
    package mutating func members(_ encoded: some Collection<UInt8>) {
        self.bytes.append(UInt8(ascii: ","))
        self.bytes.append(contentsOf: encoded)
    }

    /// An object whose members are encoded already.
    package mutating func object(_ name: StaticString, _ encoded: [UInt8]) {
        self.key(name)
        self.bytes.append(UInt8(ascii: "{"))
        self.bytes.append(contentsOf: encoded)
        self.bytes.append(UInt8(ascii: "}"))
    }

    package mutating func peer(_ name: StaticString, _ peer: Peer) {
        self.key(name)
        self.bytes.append(text: "{\"uid\":")
        self.bytes.append(decimal: peer.uid)
        self.bytes.append(text: ",\"pid\":")
        self.bytes.append(decimal: peer.pid)
        self.bytes.append(UInt8(ascii: "}"))
    }

    /// A place in the order, as clients give it back.
    package mutating func cursor(_ name: StaticString, _ cursor: Cursor) {
        self.key(name)
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(cursor: cursor)
        self.bytes.append(UInt8(ascii: "\""))
    }

    /// The whole line, with its newline.
    package consuming func line() -> [UInt8] {
        self.bytes.append(text: "}\n")
        return self.bytes
    }
}

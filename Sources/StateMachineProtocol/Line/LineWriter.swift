package import StateMachineCore

/// Writes server lines, key by key, in the caller's order; the caller is ``ServerLine``.
package struct LineWriter: ~Copyable {
    private var output = LineBytes()
    /// The second that was written last, and its text up to the point: most times of lines that are written together
    /// are of one.
    private var written = (second: Int64.min, text: SecondText())

    package init() {}

    /// Passes the bytes of the line that was begun last.
    package borrowing func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        self.output.withBytes(body)
    }

    /// The same bytes, as a copy.
    package var bytes: [UInt8] { self.output.withBytes { Array($0) } }

    /// How many there are.
    var count: Int { self.output.count }

    /// What `body` writes.
    package static func bytes(_ body: (inout LineWriter) -> Void) -> [UInt8] {
        var writer = LineWriter()
        body(&writer)
        return writer.bytes
    }

    /// What `body` writes, as text.
    static func text(_ body: (inout LineWriter) -> Void) -> String {
        var writer = LineWriter()
        body(&writer)
        return writer.output.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Writes a whole line with its newline, and forgets what was written before.
    @inline(__always)
    mutating func line(_ type: StaticString, id: RequestID?, members: (inout LineWriter) -> Void) {
        self.begin(type, id: id)
        members(&self)
        self.text("}\n")
    }

    /// Begins a line anew.
    @inline(__always)
    mutating func begin(_ type: StaticString, id: RequestID?) {
        self.output.clear()
        self.text("{\"type\":\"")
        self.text(type)
        self.text("\"")
        switch id {
        case nil: break
        case .integer(let integer): self.number(.id, integer)
        case .string(let string): self.string(.id, string)
        }
    }

    // MARK: - Members

    @inline(__always)
    mutating func key(_ key: LineKey) {
        // At once: a line is mostly keys.
        let (before, name, behind): (StaticString, StaticString, StaticString) = (
            ",\"", key.name, "\":"
        )
        let count = name.utf8CodeUnitCount
        let start = self.output.room(for: count + 4)
        start.copyMemory(from: before.utf8Start, byteCount: 2)
        (start + 2).copyMemory(from: name.utf8Start, byteCount: count)
        (start + 2 + count).copyMemory(from: behind.utf8Start, byteCount: 2)
    }

    @inline(__always)
    package mutating func bool(_ key: LineKey, _ value: Bool) {
        self.key(key)
        if value { self.text("true") } else { self.text("false") }
    }

    @inline(__always)
    package mutating func number(_ key: LineKey, _ value: some BinaryInteger) {
        self.key(key)
        self.decimal(value)
    }

    package mutating func string(_ key: LineKey, _ value: String) {
        self.key(key)
        self.quoted(value)
    }

    package mutating func json(_ key: LineKey, _ value: JSONValue) {
        self.key(key)
        self.json(value)
    }

    @inline(__always)
    package mutating func time(_ key: LineKey, _ value: WallTime) {
        self.key(key)
        self.text("\"")
        self.time(value)
        self.text("\"")
    }

    /// An object whose members are encoded already.
    package mutating func object(_ key: LineKey, _ encoded: [UInt8]) {
        self.key(key)
        self.text("{")
        self.raw(encoded)
        self.text("}")
    }

    /// An object with the members that `members` writes, at least one.
    package mutating func object(_ key: LineKey, members: (inout LineWriter) -> Void) {
        self.key(key)
        self.object(members)
    }

    private mutating func object(_ members: (inout LineWriter) -> Void) {
        let start = self.output.count
        members(&self)
        // The first member's comma.
        self.output.replace(at: start, by: UInt8(ascii: "{"))
        self.text("}")
    }

    /// An array of objects, each with the members that `members` writes, at least one.
    package mutating func objects<Element>(
        _ key: LineKey,
        _ elements: some Sequence<Element>,
        members: (inout LineWriter, Element) -> Void
    ) {
        self.key(key)
        self.text("[")
        let first = self.output.count
        for element in elements {
            if self.output.count > first { self.text(",") }
            self.object { members(&$0, element) }
        }
        self.text("]")
    }

    /// Who asked for something, and why, as far as that is known.
    package mutating func origin(_ origin: Origin) {
        if let by = origin.peer { self.peer(.by, by, at: origin.host) }
        if let cause = origin.cause { self.string(.cause, cause) }
        if origin.isForced { self.bool(.forced, true) }
    }

    /// A peer, and the host where it is, if there are several.
    package mutating func peer(_ key: LineKey, _ peer: Peer, at host: String? = nil) {
        self.key(key)
        if let host {
            self.text("{\"host\":")
            self.quoted(host)
            self.text(",")
            self.members(of: peer)
        } else if let written = peer.program?.written, !written.isEmpty {
            self.raw(written)
        } else {
            self.object(of: peer)
        }
    }

    private mutating func object(of peer: Peer) {
        self.text("{")
        self.members(of: peer)
    }

    /// What is known of it, and the end of its object.
    private mutating func members(of peer: Peer) {
        self.text("\"uid\":")
        self.decimal(peer.uid)
        self.text(",\"pid\":")
        self.decimal(peer.pid)
        self.program(of: peer)
        self.text("}")
    }

    /// The peer's program, if known.
    package mutating func program(of peer: Peer) {
        if let comm = peer.comm { self.string(.comm, comm) }
        if let unit = peer.unit { self.string(.unit, unit) }
    }

    /// The object that lines contain for a peer, to be built once.
    package static func written(_ peer: Peer) -> [UInt8] { self.bytes { $0.object(of: peer) } }

    /// A place in the order, as clients give it back.
    @inline(__always)
    package mutating func cursor(_ key: LineKey, _ cursor: Cursor) {
        self.key(key)
        self.text("\"")
        cursor.epoch.withBytes { self.raw($0) }
        self.text(":")
        self.decimal(cursor.seq)
        self.text("\"")
    }

    // MARK: - Values

    /// Bytes that need no escaping.
    @inline(__always)
    mutating func text(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        self.output.room(for: count).copyMemory(from: text.utf8Start, byteCount: count)
    }

    mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        self.output.room(for: bytes.count).copyMemory(from: start, byteCount: bytes.count)
    }

    @inline(__always)
    mutating func raw(_ bytes: [UInt8]) { bytes.withUnsafeBytes { self.raw($0) } }

    mutating func raw(_ text: String) {
        var text = text
        text.withUTF8 { self.raw(UnsafeRawBufferPointer($0)) }
    }

    @inline(__always)
    mutating func decimal(_ number: some BinaryInteger) {
        if number < 0 { self.text("-") }
        self.decimal(UInt64(number.magnitude))
    }

    private mutating func decimal(_ magnitude: UInt64) {
        var (count, bound) = (1, 10 as UInt64)
        // 2^64 has twenty digits, one more than the last bound.
        while magnitude >= bound, count < 20 {
            count += 1
            bound &*= 10
        }
        self.output.room(for: count).write(magnitude, digits: count)
    }

    /// RFC 3339, without quotes.
    mutating func time(_ time: WallTime) {
        let (second, fraction) = time.shown.dividedFlooring(by: 1_000_000)
        if second != self.written.second { self.written = (second, SecondText(second)) }
        let start = self.output.room(for: SecondText.length + 7)
        withUnsafeBytes(of: self.written.text.digits) { digits in
            start.copyMemory(
                from: digits.baseAddress.unsafelyUnwrapped,
                byteCount: SecondText.length
            )
        }
        (start + SecondText.length).write(UInt64(fraction), digits: 6)
        start.storeBytes(of: UInt8(ascii: "Z"), toByteOffset: SecondText.length + 6, as: UInt8.self)
    }

    /// A value as JSON, without white space.
    mutating func json(_ value: JSONValue) {
        switch value {
        case .null: self.text("null")
        case .bool(let bool): self.text(bool ? "true" : "false")
        case .number(let text): self.raw(text)
        case .string(let string): self.quoted(string)
        case .array(let elements):
            self.text("[")
            for (index, element) in elements.enumerated() {
                if index > 0 { self.text(",") }
                self.json(element)
            }
            self.text("]")
        case .object(let members):
            self.text("{")
            for (index, member) in members.enumerated() {
                if index > 0 { self.text(",") }
                self.quoted(member.key)
                self.text(":")
                self.json(member.value)
            }
            self.text("}")
        }
    }

    /// A string in quotes.
    ///
    /// Escaped: the quote, the backslash, C0, DEL, C1, U+2028 and U+2029, so that a line is a line
    /// to every reader and does nothing to a terminal. Slashes are not.
    mutating func quoted(_ string: String) {
        self.text("\"")
        var string = string
        let isWritten = string.withUTF8 { text in
            guard text.allSatisfy(\.isPlain) else { return false }
            self.raw(UnsafeRawBufferPointer(text))
            return true
        }
        if !isWritten { for scalar in string.unicodeScalars { self.escaped(scalar) } }
        self.text("\"")
    }

    private mutating func escaped(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x22: self.text("\\\"")
        case 0x5C: self.text("\\\\")
        case 0x0A: self.text("\\n")
        case 0x0D: self.text("\\r")
        case 0x09: self.text("\\t")
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029:
            self.text("\\u")
            let digits = String(scalar.value, radix: 16)
            for _ in digits.count..<4 { self.text("0") }
            self.raw(digits)
        default: self.raw(String(scalar))
        }
    }
}

extension UInt8 {
    /// Whether it stands for itself in a JSON string; most strings have nothing else.
    var isPlain: Bool {
        self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}

/// The bytes of a line that is being written.
///
/// In memory of its own, which is kept from line to line: an append to an array checks each time
/// whether it is shared, and where it ends, which costs more than copying pieces as short as a
/// line's.
struct LineBytes: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    /// How many there are.
    private(set) var count = 0

    /// How many bytes it has room for at first; most lines have fewer.
    private static var capacity: Int { 512 }

    init() {
        self.memory = .allocate(byteCount: Self.capacity, alignment: 1)
    }

    deinit {
        self.memory.deallocate()
    }

    borrowing func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try body(UnsafeRawBufferPointer(rebasing: self.memory[..<self.count]))
    }

    /// Forgets them.
    mutating func clear() { self.count = 0 }

    /// Returns where `count` more bytes go, which the caller writes.
    @inline(__always)
    mutating func room(for count: Int) -> UnsafeMutableRawPointer {
        if self.memory.count - self.count < count { self.grow(by: count) }
        defer { self.count += count }
        // Never nil: it was allocated with a size above zero.
        return self.memory.baseAddress.unsafelyUnwrapped + self.count
    }

    mutating func replace(at index: Int, by byte: UInt8) { self.memory[index] = byte }

    @inline(never)
    private mutating func grow(by count: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(self.count + count, self.memory.count * 2),
            alignment: 1
        )
        self.withBytes { larger.copyMemory(from: $0) }
        self.memory.deallocate()
        self.memory = larger
    }
}

/// A second as RFC 3339 has it, up to the point before its fraction: `2026-11-20T21:55:03.`.
private struct SecondText {
    static var length: Int { 20 }

    private(set) var digits = SIMD32<UInt8>()

    init() {}

    /// A second counted from 1970.
    init(_ second: Int64) {
        let (day, second) = second.dividedFlooring(by: 86400)
        let date = WallTime.civil(day: day)
        let parts: [(Int64, Int, Unicode.Scalar)] = [
            (date.year, 4, "-"), (date.month, 2, "-"), (date.day, 2, "T"), (second / 3600, 2, ":"),
            (second / 60 % 60, 2, ":"), (second % 60, 2, "."),
        ]
        withUnsafeMutableBytes(of: &self.digits) { bytes in
            var next = bytes.baseAddress.unsafelyUnwrapped
            for (number, digits, mark) in parts {
                next.write(UInt64(number), digits: digits)
                next.storeBytes(of: UInt8(ascii: mark), toByteOffset: digits, as: UInt8.self)
                next += digits + 1
            }
        }
    }
}

extension UnsafeMutableRawPointer {
    /// Writes the last `digits` digits of a number, two at a time.
    func write(_ number: UInt64, digits: Int) {
        var (rest, index) = (number, digits)
        while index >= 2 {
            let pair = UInt16(truncatingIfNeeded: rest % 100)
            rest /= 100
            index -= 2
            let digits = 0x3030 &+ (pair / 10) &+ (pair % 10) << 8
            self.storeBytes(of: digits.littleEndian, toByteOffset: index, as: UInt16.self)
        }
        if index == 1 {
            let digit = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            self.storeBytes(of: digit, as: UInt8.self)
        }
    }
}

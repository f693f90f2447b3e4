/// A `set` as programs write it, read without building a tree.
///
/// It is one object with no keys but `op`, `id`, `state`, `data` and `cause`, each at most once,
/// and nothing in it but printable ASCII without escapes. Everything else, valid or not, is left to
/// ``Request/parse(_:)``, which knows what to answer; this only says "not here".
///
/// The contents of `data` are not read: they are valid if the same bytes were valid before, which
/// ``DecodedStates`` knows.
package struct SetLine {
    package private(set) var id: RequestID?
    package private(set) var cause: String?
    /// The state's name, without its quotes.
    package private(set) var state = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The object, braces and all; empty if there is none.
    package private(set) var data = UnsafeRawBufferPointer(start: nil, count: 0)

    private enum Key: UInt8 {
        case op = 1
        case id = 2
        case state = 4
        case data = 8
        case cause = 16
    }

    /// - Parameter line: without its newline; the properties point into it.
    package init?(_ line: UnsafeRawBufferPointer) {
        var scan = Scan(line)
        var found: UInt8 = 0
        guard scan.take("{") else { return nil }
        repeat {
            guard let name = scan.string(), let key = Self.key(name), found & key.rawValue == 0,
                scan.take(":")
            else { return nil }
            found |= key.rawValue
            switch key {
            case .op:
                guard let name = scan.string(), name.holds("set") else { return nil }
            case .id:
                guard let id = scan.id() else { return nil }
                self.id = id
            case .state:
                guard let name = scan.string() else { return nil }
                self.state = name
            case .data:
                guard let object = scan.object() else { return nil }
                self.data = object
            case .cause:
                guard let cause = scan.string(), cause.count <= RequestLimits.causeBytes else {
                    return nil
                }
                self.cause = String(decoding: cause, as: UTF8.self)
            }
        } while scan.take(",")
        guard scan.take("}"), scan.isAtEnd,
            found & Key.op.rawValue != 0, found & Key.state.rawValue != 0
        else { return nil }
    }

    private static func key(_ name: UnsafeRawBufferPointer) -> Key? {
        switch name.count {
        case 2: name.holds("op") ? .op : name.holds("id") ? .id : nil
        case 4: name.holds("data") ? .data : nil
        case 5: name.holds("state") ? .state : name.holds("cause") ? .cause : nil
        default: nil
        }
    }
}

/// Walks along a line, from token to token.
private struct Scan {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    private mutating func skipSpace() {
        while self.position < self.bytes.count, self.bytes[self.position] == UInt8(ascii: " ") {
            self.position += 1
        }
    }

    mutating func take(_ token: Unicode.Scalar) -> Bool {
        self.skipSpace()
        guard self.position < self.bytes.count, self.bytes[self.position] == UInt8(ascii: token)
        else { return false }
        self.position += 1
        return true
    }

    var isAtEnd: Bool {
        mutating get {
            self.skipSpace()
            return self.position == self.bytes.count
        }
    }

    private func slice(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.bytes[start..<self.position])
    }

    /// The bytes between two quotes.
    mutating func string() -> UnsafeRawBufferPointer? {
        guard self.take("\"") else { return nil }
        let start = self.position
        while self.position < self.bytes.count {
            switch self.bytes[self.position] {
            case UInt8(ascii: "\""):
                defer { self.position += 1 }
                return self.slice(from: start)
            case UInt8(ascii: "\\"), 0..<0x20, 0x7F...: return nil
            default: self.position += 1
            }
        }
        return nil
    }

    mutating func id() -> RequestID? {
        self.skipSpace()
        guard self.position < self.bytes.count else { return nil }
        if self.bytes[self.position] == UInt8(ascii: "\"") {
            guard let string = self.string(), string.count <= RequestLimits.idBytes else {
                return nil
            }
            return .string(String(decoding: string, as: UTF8.self))
        }
        let start = self.position
        var number: Int64 = 0
        while self.position < self.bytes.count,
            case let digit = self.bytes[self.position] &- UInt8(ascii: "0"), digit < 10
        {
            number = number &* 10 &+ Int64(digit)
            self.position += 1
        }
        // JSON has no leading zeros; fifteen digits stay below 2^53.
        let count = self.position - start
        let hasLeadingZero = count > 1 && self.bytes[start] == UInt8(ascii: "0")
        return count > 0 && count <= 15 && !hasLeadingZero ? .integer(number) : nil
    }

    /// An object, from its brace to the one that closes it.
    mutating func object() -> UnsafeRawBufferPointer? {
        self.skipSpace()
        let start = self.position
        var depth = 0
        repeat {
            guard self.position < self.bytes.count else { return nil }
            switch self.bytes[self.position] {
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: "\""):
                guard self.string() != nil else { return nil }
                continue
            case UInt8(ascii: "\\"), 0..<0x20, 0x7F...: return nil
            default: if depth == 0 { return nil }
            }
            self.position += 1
        } while depth > 0
        return self.slice(from: start)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func holds(_ word: StaticString) -> Bool {
        guard self.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<self.count where self[index] != word.utf8Start[index] { return false }
        return true
    }
}

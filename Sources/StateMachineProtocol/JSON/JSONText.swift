/// A JSON text that was read: its bytes, and where each of its values lies in them.
///
/// What is in it was validated when it was read, and is made only where somebody asks for it.
struct JSONText: Sendable {
    /// Where a value lies, or the key before it: its number among the parts.
    typealias Place = Int

    /// The text, and behind it what its strings with escapes stand for.
    private let bytes: [UInt8]
    /// All values and keys, in the order of the text: each before what is in it, a key before its value.
    private let parts: [JSONPart]

    init(_ bytes: [UInt8], _ parts: [JSONPart]) {
        self.bytes = bytes
        self.parts = parts
    }

    /// The whole of it, as a value.
    var value: JSONValue { self.value(at: 0) }

    func kind(at place: Place) -> JSONPart.Kind { self.parts[place].kind }

    /// The value there, made now.
    func value(at place: Place) -> JSONValue {
        let part = self.parts[place]
        switch part.kind {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .number: return .number(self.text(of: part))
        case .string: return .string(self.text(of: part))
        case .array:
            var elements: [JSONValue] = []
            var element = place + 1
            while element < part.next {
                elements.append(self.value(at: element))
                element = Int(self.parts[element].next)
            }
            return .array(elements)
        case .object:
            var members: [JSONMember] = []
            // As many as most states have.
            if part.next > place + 1 { members.reserveCapacity(4) }
            self.forEachMember(of: place) { (key, value) in
                members.append(JSONMember(self.text(of: self.parts[key]), self.value(at: value)))
            }
            return .object(members)
        }
    }

    /// The string there, if it is one.
    func string(at place: Place) -> String? {
        let part = self.parts[place]
        return part.kind == .string ? self.text(of: part) : nil
    }

    /// The string there as a word, if it is a short one.
    func word(at place: Place) -> ShortWord? {
        let part = self.parts[place]
        return part.kind == .string ? ShortWord(self.bytes[part.range]) : nil
    }

    /// The truth value there, if it is one.
    func bool(at place: Place) -> Bool? {
        switch self.parts[place].kind {
        case .true: true
        case .false: false
        case .null, .number, .string, .array, .object: nil
        }
    }

    /// The number there, if it is written as an integer that fits.
    func integer(at place: Place) -> Int64? {
        let part = self.parts[place]
        guard part.kind == .number else { return nil }
        var digits = self.bytes[part.range]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits.removeFirst() }
        // Towards the negative, which has one number more.
        var integer: Int64 = 0
        for byte in digits {
            guard byte.isDigit else { return nil }
            let (tenfold, isTooLarge) = integer.multipliedReportingOverflow(by: 10)
            let (next, isStillTooLarge) = tenfold.subtractingReportingOverflow(
                Int64(byte - UInt8(ascii: "0"))
            )
            guard !isTooLarge, !isStillTooLarge else { return nil }
            integer = next
        }
        return isNegative ? integer : Int64(exactly: integer.magnitude)
    }

    /// The bytes of an object or an array, as it is written.
    func written(at place: Place) -> ArraySlice<UInt8> { self.bytes[self.parts[place].range] }

    /// The key of a request there, if it is one of the outermost object's.
    func key(at place: Place) -> RequestKey? { self.parts[place].key }

    /// The place of the next value behind the value there.
    func next(after place: Place) -> Place { Int(self.parts[place].next) }

    /// The text of a key, or of a number.
    func text(at place: Place) -> String { self.text(of: self.parts[place]) }

    /// The places of each key and its value.
    private func forEachMember(of object: Place, _ body: (_ key: Place, _ value: Place) -> Void) {
        let end = Int(self.parts[object].next)
        var key = object + 1
        while key < end {
            body(key, key + 1)
            key = Int(self.parts[key + 1].next)
        }
    }

    private func text(of part: JSONPart) -> String {
        self.bytes.withUnsafeBufferPointer { String(reading: part, of: $0) }
    }
}

/// A value or a key in a text.
struct JSONPart: Sendable {
    enum Kind: UInt8, Sendable {
        case null, `true`, `false`, number, string, array, object
    }

    let kind: Kind
    /// Which of the requests' keys it is; only of the outermost object's keys.
    var key: RequestKey?
    /// Where it begins; a string behind its quote.
    let start: UInt32
    /// Where it ends; a string before its quote.
    var end: UInt32
    /// The number of the part behind it and all that is in it.
    var next: UInt32

    var range: Range<Int> { Int(self.start)..<Int(self.end) }
}

extension String {
    /// A string or a number of a text that was found to be UTF-8.
    init(reading part: JSONPart, of bytes: UnsafeBufferPointer<UInt8>) {
        let bytes = UnsafeBufferPointer(rebasing: bytes[part.range])
        self.init(copying: UTF8Span(unchecked: bytes.span))
    }
}

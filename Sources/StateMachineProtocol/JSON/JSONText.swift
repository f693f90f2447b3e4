/// A JSON text that was read: its bytes, and where each of its values lies in them.
///
/// What is in it was validated when it was read, and is made only where somebody asks for it.
struct JSONText: Sendable {
    /// Where a value lies, or the key before it: its number among the parts.
    typealias Place = Int

    /// One object, so that whoever keeps a value of the text counts one reference: first the text, and behind it what
    /// its strings with escapes stand for; then its parts, all values and keys in the order of the text, each before
    /// what is in it, a key before its value.
    private let memory: [UInt8]
    /// Where the parts begin.
    private let start: UInt32
    /// The place of the first key that appears twice in one object; 0, where no key is, if none does.
    private let doubled: UInt32

    init(_ memory: [UInt8], partsFrom start: Int, doubled: Place) {
        self.memory = memory
        self.start = UInt32(truncatingIfNeeded: start)
        self.doubled = UInt32(truncatingIfNeeded: doubled)
    }

    /// The first key that appears twice in one object, if there is one.
    var doubledKey: String? { self.doubled == 0 ? nil : self.text(at: Int(self.doubled)) }

    private func part(at place: Place) -> JSONPart {
        let offset = Int(self.start) + place * MemoryLayout<JSONPart>.stride
        precondition(place >= 0 && offset < self.memory.count, "the text has no such part")
        return self.memory.withUnsafeBytes {
            $0.loadUnaligned(fromByteOffset: offset, as: JSONPart.self)
        }
    }

    /// Passes the bytes of a part, as they are written.
    @inline(__always)
    private func withBytes<Result>(
        of part: JSONPart,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        self.memory.withUnsafeBufferPointer { memory in
            body(UnsafeBufferPointer(rebasing: memory[part.range]))
        }
    }

    /// The whole of it, as a value.
    var value: JSONValue { self.value(at: 0) }

    func kind(at place: Place) -> JSONPart.Kind { self.part(at: place).kind }

    /// The value there, made now.
    func value(at place: Place) -> JSONValue {
        let part = self.part(at: place)
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
                element = self.next(after: element)
            }
            return .array(elements)
        case .object:
            var members: [JSONMember] = []
            // As many as most states have.
            if part.next > place + 1 { members.reserveCapacity(4) }
            var key = place + 1
            while key < part.next {
                members.append(JSONMember(self.text(at: key), self.value(at: key + 1)))
                key = self.next(after: key + 1)
            }
            return .object(members)
        }
    }

    /// The string there, if it is one.
    func string(at place: Place) -> String? {
        let part = self.part(at: place)
        return part.kind == .string ? self.text(of: part) : nil
    }

    /// The string there as a word, if it is a short one.
    func word(at place: Place) -> ShortWord? {
        let part = self.part(at: place)
        return part.kind == .string ? self.withBytes(of: part) { ShortWord($0) } : nil
    }

    /// The spelling of the string there, if it is one.
    func spelling(at place: Place) -> Spelling? {
        self.word(at: place).map { .short($0) } ?? self.string(at: place).map { .long($0) }
    }

    /// The truth value there, if it is one.
    func bool(at place: Place) -> Bool? {
        switch self.kind(at: place) {
        case .true: true
        case .false: false
        case .null, .number, .string, .array, .object: nil
        }
    }

    /// The number there, if it is written as an integer that fits.
    func integer(at place: Place) -> Int64? {
        let part = self.part(at: place)
        guard part.kind == .number else { return nil }
        return self.withBytes(of: part) { digits in
            let isNegative = digits.first == UInt8(ascii: "-")
            // Towards the negative, which has one number more.
            var integer: Int64 = 0
            for byte in digits.dropFirst(isNegative ? 1 : 0) {
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
    }

    /// Passes the bytes of an object or an array, as it is written.
    @inline(__always)
    func withWritten<Result>(
        at place: Place,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        self.withBytes(of: self.part(at: place), body)
    }

    /// The place of the next value behind the value there.
    func next(after place: Place) -> Place { Int(self.part(at: place).next) }

    /// The text of a key, or of a number.
    func text(at place: Place) -> String { self.text(of: self.part(at: place)) }

    private func text(of part: JSONPart) -> String {
        self.withBytes(of: part) { String(copying: UTF8Span(unchecked: $0.span)) }
    }
}

/// A value or a key in a text.
struct JSONPart: BitwiseCopyable, Sendable {
    enum Kind: UInt8, Sendable {
        case null, `true`, `false`, number, string, array, object
    }

    let kind: Kind
    /// Where it begins; a string behind its quote.
    let start: UInt32
    /// Where it ends; a string before its quote.
    var end: UInt32
    /// The number of the part behind it and all that is in it.
    var next: UInt32

    var range: Range<Int> { Int(self.start)..<Int(self.end) }
}

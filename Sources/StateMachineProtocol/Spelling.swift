import CPlatform

/// A text that equals only texts of the same bytes, compared and hashed in time linear in their
/// number.
///
/// `String` compares as Unicode does: it sorts combining marks, in time quadratic in their number.
/// What a client sends is compared by this.
package enum Spelling: Hashable, Sendable {
    /// Most names are: for these no reference is counted.
    case short(ShortWord)
    case long(String)

    package init(_ text: String) { self = ShortWord(text).map { .short($0) } ?? .long(text) }

    package var text: String {
        switch self {
        case .short(let word): word.text
        case .long(let text): text
        }
    }

    package static func == (left: Spelling, right: Spelling) -> Bool {
        switch (left, right) {
        case (.short(let left), .short(let right)): left == right
        case (.long(let left), .long(let right)): left.isSpelled(right)
        case (.short, _), (.long, _): false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .short(let word): hasher.combine(word)
        case .long(let text): text.hashSpelling(into: &hasher)
        }
    }
}

/// A text of at most 15 bytes as a number: two are the same if the numbers are.
package struct ShortWord: Hashable, Sendable {
    let number: UInt128

    /// The empty one.
    init() { self.number = 0 }

    /// Nil of a longer one.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count < UInt128.bitWidth / 8 else { return nil }
        // The last tells how many there are.
        var number = (UInt128(bytes.count) << 120).littleEndian
        withUnsafeMutableBytes(of: &number) { $0.copyBytes(from: bytes) }
        self.number = number
    }

    init?(_ text: String) {
        var text = text
        guard let word = text.withUTF8({ Self($0) }) else { return nil }
        self = word
    }

    var text: String {
        withUnsafeBytes(of: self.number.littleEndian) {
            String(decoding: $0.prefix(Int(self.number >> 120)), as: UTF8.self)
        }
    }
}

/// Words of the protocol, to be found by their spelling.
struct WordTable<Word: RawRepresentable<String> & Sendable>: Sendable {
    private let rows: [(spelling: ShortWord, word: Word)]

    /// A table of words of at most 15 bytes, those that are asked for most in front.
    init(_ words: some Sequence<Word>) {
        self.rows = words.compactMap { word in
            ShortWord(word.rawValue).map { ($0, word) }
        }
    }

    /// The word that is spelled so.
    subscript(_ spelling: ShortWord) -> Word? {
        self.number(of: spelling).map { self.rows[$0].word }
    }

    /// Which of the words is spelled so, from 0.
    func number(of spelling: ShortWord) -> Int? {
        // By their places: a row is not copied.
        self.rows.indices.first { self.rows[$0].spelling == spelling }
    }
}

extension String {
    /// Whether the other text has the same bytes; see ``Spelling``.
    package func isSpelled(_ other: String) -> Bool {
        guard self.utf8.count == other.utf8.count else { return false }
        let isSame = self.utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { other -> Bool in
                guard let own = own.baseAddress, let start = other.baseAddress else { return true }
                return memcmp(own, start, other.count) == 0
            }
        }
        // Nil for strings not in Swift's native storage.
        return (isSame ?? nil) ?? self.utf8.elementsEqual(other.utf8)
    }

    func hashSpelling(into hasher: inout Hasher) {
        let isHashed: Void? = self.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil { for byte in self.utf8 { hasher.combine(byte) } }
        // So that no text is a prefix of another.
        hasher.combine(0xFF as UInt8)
    }

    /// Whether it has more combining marks in a row than any writing.
    ///
    /// States' types may compare texts as `String` does: with few marks in a row, that takes time
    /// linear in the length.
    package var hasTooManyMarks: Bool {
        // A mark takes two bytes at least.
        guard self.utf8.count > RequestLimits.marks * 2 else { return false }
        var marks = 0
        for scalar in self.unicodeScalars {
            // Below U+0300 nothing combines.
            let isMark =
                scalar.value >= 0x300
                && scalar.properties.canonicalCombiningClass != .notReordered
            marks = isMark ? marks + 1 : 0
            if marks > RequestLimits.marks { return true }
        }
        return false
    }
}

extension UInt8 {
    /// Whether it is one of `0` to `9`.
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether it is one of `a` to `z` and `A` to `Z`.
    package var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    package var isLetterOrDigit: Bool { self.isLetter || self.isDigit }
}

extension JSONValue {
    /// Whether any text in it has; see `String.hasTooManyMarks`.
    package var hasTooManyMarks: Bool {
        switch self {
        case .null, .bool, .number: false
        case .string(let string): string.hasTooManyMarks
        case .array(let elements): elements.contains(where: \.hasTooManyMarks)
        case .object(let members):
            members.contains { $0.key.hasTooManyMarks || $0.value.hasTooManyMarks }
        }
    }
}

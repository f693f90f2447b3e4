import StateMachineProtocol

/// Where a state keeps its fields: small closed ones in the bits of a word, two integers in words of their own,
/// and the rest in an object.
struct FieldLayout: Hashable, Sendable {
    enum Place: Hashable, Sendable {
        /// Bits of the first word. Zero means absent, one means the lowest value.
        case bits(shift: Int, width: Int, first: Int64)
        /// The same for a field of listed values: their index.
        case index(shift: Int, width: Int)
        /// The same for a boolean.
        case boolean(shift: Int)
        /// An integer in a word of its own, and a bit of the first word that says whether it is there.
        case word(Int, shift: Int)
        /// The object's value at that index.
        case boxed(Int)
    }

    let places: [Place]
    /// How many values the object has.
    let boxedCount: Int

    init(_ fields: [DeclaredField]) {
        var used = 0
        var words = 0
        var boxed = 0
        self.places = fields.map { field in
            if let (place, width) = Self.packed(field, at: used) {
                used += width
                return place
            }
            if field.type == .integer, words < 2, used < UInt64.bitWidth {
                defer {
                    used += 1
                    words += 1
                }
                return .word(words, shift: used)
            }
            defer { boxed += 1 }
            return .boxed(boxed)
        }
        self.boxedCount = boxed
    }

    /// Where a closed field goes in the first word, and how many bits it takes there; nil if it is open, or there
    /// is no room.
    private static func packed(_ field: DeclaredField, at shift: Int) -> (Place, width: Int)? {
        let place: Place
        let width: Int
        if !field.values.isEmpty {
            width = Self.width(ofCount: UInt64(field.values.count))
            place = .index(shift: shift, width: width)
        } else if field.type == .boolean {
            width = 2
            place = .boolean(shift: shift)
        } else if case .integers(let range) = field.bounds {
            let (span, isWide) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
            guard !isWide, span < 1 << 32 else { return nil }
            width = Self.width(ofCount: UInt64(span) + 1)
            place = .bits(shift: shift, width: width, first: range.lowerBound)
        } else {
            return nil
        }
        return shift + width <= UInt64.bitWidth ? (place, width) : nil
    }

    /// The bits for that many values and for absence.
    private static func width(ofCount count: UInt64) -> Int {
        UInt64.bitWidth - count.leadingZeroBitCount
    }
}

import StateMachineProtocol

/// Where a state keeps its fields: small closed ones in the bits of a word, two integers in words of their own,
/// and the rest in an object.
struct FieldLayout: Hashable, Sendable {
    enum Place: Hashable, Sendable {
        /// Bits of the first word. Zero means absent, one the first that it can be.
        case bits(shift: Int, width: Int, first: Int64)
        /// The same of a field of listed values: their index.
        case index(shift: Int, width: Int)
        /// The same of a boolean.
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
            if let width = Self.width(of: field), used + width <= UInt64.bitWidth {
                defer { used += width }
                if !field.values.isEmpty { return .index(shift: used, width: width) }
                if field.type == .boolean { return .boolean(shift: used) }
                guard case .integers(let range) = field.bounds else { return .boxed(0) }
                return .bits(shift: used, width: width, first: range.lowerBound)
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

    /// The bits that a closed field takes, with a value for its absence; nil if it is open.
    private static func width(of field: DeclaredField) -> Int? {
        if !field.values.isEmpty { return Self.width(ofCount: UInt64(field.values.count)) }
        switch (field.type, field.bounds) {
        case (.boolean, _): return 2
        case (.integer, .integers(let range)):
            let (span, isWide) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
            guard !isWide, span < 1 << 32 else { return nil }
            return Self.width(ofCount: UInt64(span) + 1)
        case (.integer, _), (.number, _), (.string, _), (.array, _), (.object, _): return nil
        }
    }

    private static func width(ofCount count: UInt64) -> Int {
        UInt64.bitWidth - count.leadingZeroBitCount
    }
}

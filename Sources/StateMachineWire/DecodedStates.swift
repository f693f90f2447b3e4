/// States by the bytes that requests have named them with, so that what was judged once is not judged
/// again.
///
/// Only what was right is kept: the same bytes always mean the same state.
package struct DecodedStates {
    private struct Entry {
        let name: [UInt8]
        let data: [UInt8]
        let state: EncodedState
    }

    /// How many are kept; one whose place is taken pushes the other out.
    ///
    /// 256, a power of two: more than the combinations of most enums. Not tuned.
    private static let places = 256

    /// Bytes that a name and data may have together to be kept: with ``places`` an eighth of a megabyte
    /// at most.
    private static let entryBytes = 512

    private var entries: [Entry?] = Array(repeating: nil, count: Self.places)

    package init() {}

    /// The state that such a line has been found to name.
    package subscript(line: SetLine) -> EncodedState? {
        guard let entry = self.entries[Self.place(line)], entry.name.equals(line.state),
            entry.data.equals(line.data)
        else { return nil }
        return entry.state
    }

    /// Keeps what such a line names.
    package mutating func keep(_ state: EncodedState, for line: SetLine) {
        guard line.state.count + line.data.count <= Self.entryBytes else { return }
        self.entries[Self.place(line)] = Entry(
            name: Array(line.state),
            data: Array(line.data),
            state: state
        )
    }

    private static func place(_ line: SetLine) -> Int {
        let hash = line.data.mixed(into: line.state.mixed(into: 0))
        return Int(truncatingIfNeeded: hash) & (self.places - 1)
    }
}

extension UnsafeRawBufferPointer {
    /// A number that differs for most other bytes.
    ///
    /// Multiplication by 2^64 over the golden ratio, eight bytes at a time. Whoever finds bytes that
    /// share a place gains nothing: they are decoded as if there were no places.
    fileprivate func mixed(into seed: UInt64) -> UInt64 {
        var hash = seed ^ UInt64(self.count)
        var index = 0
        while index < self.count {
            var word: UInt64 = 0
            if index + 8 <= self.count {
                word = self.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            } else {
                for byte in self[index...] { word = word << 8 | UInt64(byte) }
            }
            hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 32
            index += 8
        }
        return hash
    }
}

extension [UInt8] {
    fileprivate func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.withUnsafeBytes { $0.elementsEqual(bytes) }
    }
}

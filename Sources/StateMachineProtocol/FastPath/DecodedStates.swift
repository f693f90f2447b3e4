import CPlatform
package import StateMachineCore

/// States keyed by the bytes that requests named them with, so that none is evaluated twice.
///
/// Only valid ones are kept: the same bytes always mean the same state.
package struct DecodedStates {
    /// A class, so that a lookup counts one reference and not three.
    private final class Entry: Sendable {
        /// The name, followed by the data.
        let bytes: [UInt8]
        let nameLength: Int
        let state: Value

        init(_ line: SetLine, _ state: Value) {
            self.bytes = Array(line.state) + Array(line.data)
            self.nameLength = line.state.count
            self.state = state
        }

        func isNamed(by line: SetLine) -> Bool {
            guard self.nameLength == line.state.count,
                self.bytes.count == line.state.count + line.data.count
            else { return false }
            return self.bytes.withUnsafeBytes { bytes in
                bytes[..<self.nameLength].equals(line.state)
                    && bytes[self.nameLength...].equals(line.data)
            }
        }
    }

    /// How many are kept; a new entry replaces the one in its place.
    ///
    /// 256, a power of two: more than the combinations of most enums. Not tuned.
    private static let places = 256

    /// The most bytes that a name and data may have together to be kept: with ``places`` an eighth
    /// of a megabyte at most.
    private static let entryBytes = 512

    private var entries: [Entry?] = Array(repeating: nil, count: Self.places)

    package init() {}

    /// The state that such a line has been found to name.
    package subscript(line: SetLine) -> Value? {
        guard let entry = self.entries[Self.place(line)], entry.isNamed(by: line) else {
            return nil
        }
        return entry.state
    }

    /// Keeps what such a line names.
    package mutating func keep(_ state: Value, for line: SetLine) {
        guard line.state.count + line.data.count <= Self.entryBytes else { return }
        self.entries[Self.place(line)] = Entry(line, state)
    }

    private static func place(_ line: SetLine) -> Int {
        let hash = line.data.mixed(into: line.state.mixed(into: 0))
        return Int(truncatingIfNeeded: hash) & (self.places - 1)
    }
}

extension UnsafeRawBufferPointer {
    /// A hash of the bytes.
    ///
    /// Multiplication by 2^64 over the golden ratio, eight bytes at a time. Finding bytes that
    /// collide gains nothing: they are decoded as if there were no cache.
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

extension Slice<UnsafeRawBufferPointer> {
    /// Whether the bytes are the same; both must have the same count.
    fileprivate func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard let own = UnsafeRawBufferPointer(rebasing: self).baseAddress,
            let other = other.baseAddress
        else { return self.isEmpty }
        return memcmp(own, other, self.count) == 0
    }
}

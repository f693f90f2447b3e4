import Glibc
import StateMachineCore
import StateMachineProtocol

/// The states that were set lately, by how their requests were written.
///
/// To decode an enum and to encode it again takes longer than all the rest of a set, and most machines move between
/// few states.
struct RecentStates {
    /// An object, so that looking at one counts one reference.
    private final class Row {
        let name: String
        /// The object's bytes; nil: no data was given.
        let data: ArraySlice<UInt8>?
        let state: Value

        init(name: String, data: ArraySlice<UInt8>?, state: Value) {
            self.name = name
            self.data = data
            self.state = state
        }
    }

    /// How many states are kept at most, and how long the request of one may be, in bytes.
    ///
    /// 64, of 1 KiB: more than most machines have, and 64 KiB at most besides the states. Not tuned.
    private static let (places, longest) = (64, 1024)

    /// Each at the place that its bytes lead to, or beside it: a later one sends an earlier one there.
    private var rows: [Row?] = []

    /// The state that was set by a request of this name and this data.
    func state(_ name: String, _ data: GivenValue?) -> Value? {
        guard !self.rows.isEmpty, let written = Self.written(name, data) else { return nil }
        let place = Self.place(of: name, written)
        return self.state(at: place, name, written) ?? self.state(at: place ^ 1, name, written)
    }

    private func state(at place: Int, _ name: String, _ data: ArraySlice<UInt8>?) -> Value? {
        guard let row = self.rows[place], row.name.isSpelled(name), Self.areSame(row.data, data)
        else { return nil }
        return row.state
    }

    /// Keeps the state of a request; not of one whose data is long, or was not read from its line.
    mutating func keep(_ state: Value, as name: String, _ data: GivenValue?) {
        guard let written = Self.written(name, data) else { return }
        if self.rows.isEmpty { self.rows = Array(repeating: nil, count: Self.places) }
        let place = Self.place(of: name, written)
        if let other = self.rows[place] { self.rows[place ^ 1] = other }
        // A copy, so that the line is not kept.
        self.rows[place] = Row(
            name: name,
            data: written.map { ArraySlice(Array($0)) },
            state: state
        )
    }

    /// The data as it was written, nil inside if there is none; nil if the request cannot be kept.
    private static func written(_ name: String, _ data: GivenValue?) -> ArraySlice<UInt8>?? {
        guard let data else { return name.utf8.count <= self.longest ? .some(nil) : nil }
        guard let written = data.writtenObject, name.utf8.count + written.count <= self.longest
        else {
            return nil
        }
        return written
    }

    /// A checksum: requests that differ may have the same.
    private static func place(of name: String, _ data: ArraySlice<UInt8>?) -> Int {
        var sum = UInt64(name.utf8.count) &* 31 &+ UInt64(name.utf8.first ?? 0)
        data?.withUnsafeBytes { bytes in
            var next = 0
            while next + 8 <= bytes.count {
                sum = sum &* 31 &+ bytes.loadUnaligned(fromByteOffset: next, as: UInt64.self)
                // What differs in the upper bytes alone is to differ in the place.
                sum ^= sum >> 32
                next += 8
            }
            for byte in bytes[next...] { sum = sum &* 31 &+ UInt64(byte) }
        }
        sum ^= sum >> 16
        return Int((sum ^ sum >> 8) % UInt64(self.places))
    }

    private static func areSame(_ left: ArraySlice<UInt8>?, _ right: ArraySlice<UInt8>?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        let count = left.count
        return count == right.count
            && left.withUnsafeBytes { left in
                right.withUnsafeBytes { right in
                    guard let left = left.baseAddress, let right = right.baseAddress else {
                        return true
                    }
                    return memcmp(left, right, count) == 0
                }
            }
    }
}

import CPlatform
package import StateMachineCore

/// The states that were set lately, by how their requests were written.
///
/// To decode an enum and to encode it again takes longer than all the rest of a set, and most machines move between
/// few states.
package struct RecentStates {
    /// An object, so that looking at one counts one reference.
    private final class Row {
        let name: Spelling
        /// The object's bytes; nil: no data was given.
        let data: [UInt8]?
        let state: Value

        init(name: Spelling, data: [UInt8]?, state: Value) {
            self.name = name
            self.data = data
            self.state = state
        }

        /// Whether it is of a request of this name and this data.
        func isOf(_ name: Spelling, _ data: UnsafeBufferPointer<UInt8>?) -> Bool {
            guard self.name == name, self.data?.count == data?.count else { return false }
            guard let own = self.data, let other = data?.baseAddress else { return true }
            return memcmp(own, other, own.count) == 0
        }
    }

    /// How many states are kept at most, and how long the request of one may be, in bytes.
    ///
    /// 64, of 1 KiB: more than most machines have, and 64 KiB at most besides the states. Not tuned.
    private static let (places, longest) = (64, 1024)

    /// Each at the place that its bytes lead to, or beside it: a later one sends an earlier one there.
    private var rows: [Row?] = []

    package init() {}

    /// The state that was set by a request of this name and this data.
    package func state(_ name: Spelling, _ data: GivenValue?) -> Value? {
        guard !self.rows.isEmpty else { return nil }
        return Self.withBytes(of: data) { data in
            let place = Self.place(of: name, data)
            return self.state(at: place, name, data) ?? self.state(at: place ^ 1, name, data)
        }
    }

    private func state(
        at place: Int,
        _ name: Spelling,
        _ data: UnsafeBufferPointer<UInt8>?
    ) -> Value? {
        guard let row = self.rows[place], row.isOf(name, data) else { return nil }
        return row.state
    }

    /// Keeps the state of a request; not of one whose data is long, or was not read from its line.
    package mutating func keep(_ state: Value, as name: Spelling, _ data: GivenValue?) {
        guard
            let (place, data) = Self.withBytes(
                of: data,
                { data in (Self.place(of: name, data), data.map { Array($0) }) }
            ),
            name.text.utf8.count + (data?.count ?? 0) <= Self.longest
        else { return }
        if self.rows.isEmpty { self.rows = Array(repeating: nil, count: Self.places) }
        if let other = self.rows[place] { self.rows[place ^ 1] = other }
        self.rows[place] = Row(name: name, data: data, state: state)
    }

    /// Passes the data as it was written, nil if there is none; returns nil if the request cannot be kept.
    @inline(__always)
    private static func withBytes<Result>(
        of data: GivenValue?,
        _ body: (UnsafeBufferPointer<UInt8>?) -> Result?
    ) -> Result? {
        guard let data else { return body(nil) }
        return data.withWrittenObject { body($0) } ?? nil
    }

    /// A checksum: requests that differ may have the same.
    private static func place(of name: Spelling, _ data: UnsafeBufferPointer<UInt8>?) -> Int {
        var sum =
            switch name {
            case .short(let word): UInt64(truncatingIfNeeded: word.number ^ word.number >> 64)
            case .long(let text): UInt64(text.utf8.count)
            }
        if let data {
            let bytes = UnsafeRawBufferPointer(data)
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
}

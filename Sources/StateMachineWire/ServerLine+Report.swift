package import StateMachineCore

extension ServerLine {
    /// A state, where it stands in the order, and since when; encoded once for all lines that say so.
    package struct Report: Sendable {
        package private(set) var seq: UInt64
        package private(set) var at: WallTime
        package let epoch: Epoch

        /// `"seq":…,"state":…,"data":…,"at":…,"cursor":…`.
        private var encoded: [UInt8] = []
        /// Where the comma before `at` stands in it.
        private var placeEnd = 0
        /// Where the comma before `cursor` stands in it.
        private var timeEnd = 0

        /// - Parameters:
        ///   - seq: the place in the order.
        ///   - fragment: what ``StateCoding/fragment(of:)`` makes of the state.
        ///   - at: since when.
        ///   - epoch: which numbering.
        package init(seq: UInt64, fragment: [UInt8], at: WallTime, epoch: Epoch) {
            self.seq = seq
            self.at = at
            self.epoch = epoch
            self.encode(fragment)
        }

        /// Makes it that of another place, in the memory that it has.
        package mutating func move(to seq: UInt64, fragment: [UInt8], at: WallTime) {
            self.seq = seq
            self.at = at
            self.encode(fragment)
        }

        private mutating func encode(_ fragment: [UInt8]) {
            self.encoded.removeAll(keepingCapacity: true)
            self.encoded.append(text: "\"seq\":")
            self.encoded.append(decimal: self.seq)
            self.encoded.append(UInt8(ascii: ","))
            self.encoded.append(contentsOf: fragment)
            self.placeEnd = self.encoded.count
            self.encoded.append(text: ",\"at\":\"")
            self.encoded.append(time: self.at)
            self.encoded.append(UInt8(ascii: "\""))
            self.timeEnd = self.encoded.count
            self.encoded.append(text: ",\"cursor\":\"")
            self.encoded.append(cursor: Cursor(epoch: self.epoch, seq: self.seq))
            self.encoded.append(UInt8(ascii: "\""))
        }

        /// All of it, as members of an object.
        var members: ArraySlice<UInt8> { self.encoded[...] }

        /// `seq`, `state` and `data`.
        var place: ArraySlice<UInt8> { self.encoded[..<self.placeEnd] }

        /// `at`.
        var time: ArraySlice<UInt8> { self.encoded[(self.placeEnd + 1)..<self.timeEnd] }

        /// `cursor`.
        var cursor: ArraySlice<UInt8> { self.encoded[(self.timeEnd + 1)...] }
    }
}

extension [UInt8] {
    mutating func append(cursor: Cursor) {
        self.append(text: cursor.epoch.description)
        self.append(UInt8(ascii: ":"))
        self.append(decimal: cursor.seq)
    }
}

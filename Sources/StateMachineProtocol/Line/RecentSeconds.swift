import StateMachineCore

/// The last two seconds written, with their text: a line has the time of its change and perhaps
/// that at which something is due.
struct RecentSeconds {
    private struct Second {
        var number = Int64.min
        /// Up to the point.
        var text: [UInt8] = []

        init() {}

        init(of number: Int64) {
            var text: [UInt8] = []
            text.append(time: WallTime(microseconds: number * 1_000_000))
            self.number = number
            self.text = Array(text.prefix(20))
        }

        func write(to place: UnsafeMutableRawPointer) {
            self.text.withUnsafeBytes { text in
                UnsafeMutableRawBufferPointer(start: place, count: 20).copyMemory(from: text)
            }
        }
    }

    private var newer = Second()
    private var older = Second()

    /// Writes the twenty bytes of a time up to the fraction of its second.
    mutating func write(_ second: Int64, to place: UnsafeMutableRawPointer) {
        if second == self.older.number { return self.older.write(to: place) }
        if second != self.newer.number {
            (self.newer, self.older) = (Second(of: second), self.newer)
        }
        self.newer.write(to: place)
    }
}

import Glibc
import StateMachineCore
import StateMachineProtocol

/// The changes of the recent past, each encoded once, in one shared log of bytes.
///
/// A reader is a cursor into it: the seq of the last change that it was sent. Nothing is copied or
/// queued for a reader, so one that stops costs nothing here, and one that stays away too long finds
/// that its place has been overwritten.
///
/// Memory is allotted once and touched as it fills. Not thread-safe: it belongs to the event loop,
/// and what a slice points at is overwritten by later appends.
struct ChangeRing: ~Copyable {
    /// A kept change, apart from its bytes.
    struct Row {
        let change: Change
        /// What time would do after it.
        let due: ServerLine.Due?
    }

    /// Where a change's line is, and what it and its state weigh.
    private struct Extent {
        /// Where the line begins and ends, counted in bytes since the ring was made.
        var line: Range<UInt64> = 0..<0
        /// Bytes of lines and states before it, counted since the ring was made.
        var weight: UInt64 = 0
    }

    private let memory: UnsafeMutableRawBufferPointer
    /// How many changes are kept at most.
    private let capacity: Int
    /// The first change that came, from which slots are counted.
    private let base: UInt64
    /// A slot for each change until there are as many as are kept: a machine that is seldom set needs few.
    private var rows: [Row?] = []
    /// Apart from the rows, which have references.
    private var extents: [Extent] = []
    private var end: UInt64 = 0
    /// Bytes of all lines and states since the ring was made.
    private var weight: UInt64 = 0

    /// The newest seq; while the ring is empty, the seq after which it was made.
    private(set) var head: UInt64

    /// The oldest seq that is kept; one past ``head`` if none is.
    private(set) var first: UInt64

    init(changes: Int, bytes: Int, after seq: UInt64) {
        self.memory = .allocate(byteCount: bytes, alignment: 1)
        self.capacity = changes
        self.base = seq + 1
        self.rows.reserveCapacity(changes)
        self.extents.reserveCapacity(changes)
        self.head = seq
        self.first = seq + 1
    }

    deinit {
        self.memory.deallocate()
    }

    /// Keeps a change; the oldest ones make room, for its line and for its state.
    ///
    /// `length` is how long its state is as JSON.
    /// A line longer than the whole ring is not kept, nor is anything before it: readers are told
    /// that they missed it.
    mutating func append(
        _ change: Change,
        ofBytes length: Int,
        due: ServerLine.Due? = nil,
        line: UnsafeRawBufferPointer
    ) {
        precondition(
            change.seq == self.head + 1,
            "change \(change.seq) came to the ring after \(self.head)"
        )
        self.head = change.seq
        let slot = self.slot(self.head)
        if slot == self.rows.count {
            self.rows.append(nil)
            self.extents.append(Extent())
        }
        guard line.count <= self.memory.count else {
            self.drop(before: self.head + 1)
            return
        }
        let (start, weight) = (self.end, self.weight)
        self.end += UInt64(line.count)
        // The state is kept as bytes and as values, and the cause beside the line.
        let kept = 2 * length + change.causeLength
        self.weight += UInt64(line.count + kept)
        if self.head - self.base >= UInt64(self.capacity) {
            self.drop(before: self.head - UInt64(self.capacity) + 1)
        }
        let bytes = UInt64(self.memory.count)
        while self.first < self.head, self.weight - self.extent(self.first).weight > bytes {
            self.drop(before: self.first + 1)
        }
        self.rows[slot] = Row(change: change, due: due)
        self.extents[slot] = Extent(line: start..<self.end, weight: weight)
        let index = Int(start % UInt64(self.memory.count))
        let room = min(line.count, self.memory.count - index)
        let memory = UnsafeMutableRawBufferPointer(rebasing: self.memory[index...])
        memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: line[..<room]))
        if room < line.count {
            self.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: line[room...]))
        }
    }

    /// Forgets the changes before `first`, with their states.
    private mutating func drop(before first: UInt64) {
        while self.first < first {
            self.rows[self.slot(self.first)] = nil
            self.first += 1
        }
    }

    /// Whether all changes after `seq` are kept.
    func reaches(back seq: UInt64) -> Bool { seq + 1 >= self.first }

    /// Whether the changes after `seq` fill more than so many quarters of the ring, or are not all kept.
    func isFull(toQuarters quarters: Int, after seq: UInt64) -> Bool {
        guard seq < self.head else { return false }
        guard self.reaches(back: seq) else { return true }
        return (self.head - seq) * 4 > UInt64(quarters * self.capacity)
            || (self.weight - self.extent(seq + 1).weight) * 4
                > UInt64(quarters * self.memory.count)
    }

    /// A kept change, `first...head`.
    subscript(seq: UInt64) -> Row {
        guard let row = self.rows[self.slot(seq)] else {
            preconditionFailure("change \(seq) is not kept; \(self.first) to \(self.head) are")
        }
        return row
    }

    private func slot(_ seq: UInt64) -> Int { Int((seq &- self.base) % UInt64(self.capacity)) }

    private func extent(_ seq: UInt64) -> Extent { self.extents[self.slot(seq)] }

    /// How many bytes the line of a kept change has.
    func length(of seq: UInt64) -> Int { self.extent(seq).line.count }

    /// The change in whose line a byte lies, the byte being counted from the first line after `seq`, and how many bytes
    /// there are up to that line's end.
    ///
    /// Found by halving, so that a full socket costs little however many changes were offered to it.
    func line(at byte: Int, after seq: UInt64) -> (seq: UInt64, end: Int) {
        let start = self.extent(seq + 1).line.lowerBound
        var (first, last) = (seq + 1, self.head)
        while first < last {
            let middle = first + (last - first) / 2
            if self.extent(middle).line.upperBound - start > UInt64(byte) {
                last = middle
            } else {
                first = middle + 1
            }
        }
        return (first, Int(self.extent(first).line.upperBound - start))
    }

    /// The lines of the `count` changes after `seq`, copied.
    func lines(after seq: UInt64, count: Int) -> [[UInt8]] {
        (0..<UInt64(count)).map { index in
            var slices: [iovec] = []
            self.appendSlices(of: seq + 1 + index, to: &slices)
            return slices.reduce(into: []) { line, slice in
                line += UnsafeRawBufferPointer(start: slice.iov_base, count: slice.iov_len)
            }
        }
    }

    /// The bytes of all lines after `seq` through `last`, as they lie in the ring.
    func appendSlices(after seq: UInt64, through last: UInt64, to vectors: inout [iovec]) {
        guard seq < last else { return }
        let (first, end) = (self.extent(seq + 1).line, self.extent(last).line)
        self.appendSlices(first.lowerBound..<end.upperBound, to: &vectors)
    }

    /// The bytes of one line without its first `prefix` and its last `suffix` bytes.
    func appendSlices(
        of seq: UInt64,
        without prefix: Int = 0,
        _ suffix: Int = 0,
        to vectors: inout [iovec]
    ) {
        let line = self.extent(seq).line
        let (start, end) = (line.lowerBound + UInt64(prefix), line.upperBound - UInt64(suffix))
        self.appendSlices(start..<end, to: &vectors)
    }

    private func appendSlices(_ range: Range<UInt64>, to vectors: inout [iovec]) {
        let size = UInt64(self.memory.count)
        var start = range.lowerBound
        while start < range.upperBound {
            let index = Int(start % size)
            let length = min(Int(range.upperBound - start), self.memory.count - index)
            let base = self.memory.baseAddress.map { $0 + index }
            vectors.append(iovec(iov_base: base, iov_len: length))
            start += UInt64(length)
        }
    }
}

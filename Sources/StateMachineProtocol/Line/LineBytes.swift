/// The bytes of a line that is being written.
///
/// In memory of its own, which is kept from line to line: an append to an array checks each time
/// whether it is shared, and where it ends, which costs more than copying pieces as short as a
/// line's.
struct LineBytes: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    /// How many there are.
    private(set) var count = 0

    /// How many bytes it has room for at first; most lines have fewer.
    private static var capacity: Int { 512 }

    init() {
        self.memory = .allocate(byteCount: Self.capacity, alignment: 1)
    }

    deinit {
        self.memory.deallocate()
    }

    borrowing func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try body(UnsafeRawBufferPointer(rebasing: self.memory[..<self.count]))
    }

    /// Forgets them.
    mutating func clear() { self.count = 0 }

    /// Returns where `count` more bytes go, which the caller writes.
    @inline(__always)
    mutating func room(for count: Int) -> UnsafeMutableRawPointer {
        if self.memory.count - self.count < count { self.grow(by: count) }
        defer { self.count += count }
        // Never nil: it was allocated with a size above zero.
        return self.memory.baseAddress.unsafelyUnwrapped + self.count
    }

    /// Repeats the bytes at `place`.
    @inline(__always)
    mutating func `repeat`(_ place: Range<Int>) {
        let copy = self.room(for: place.count)
        // Not by calling a copy function for so few bytes.
        for index in 0..<place.count {
            let byte = self.memory[place.lowerBound &+ index]
            copy.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
        }
    }

    mutating func replace(at index: Int, by byte: UInt8) { self.memory[index] = byte }

    @inline(never)
    private mutating func grow(by count: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(self.count + count, self.memory.count * 2),
            alignment: 1
        )
        self.withBytes { larger.copyMemory(from: $0) }
        self.memory.deallocate()
        self.memory = larger
    }
}

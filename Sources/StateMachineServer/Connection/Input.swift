import Glibc
import NIOCore
import StateMachineProtocol

/// What a client has sent and nobody has dealt with, taken line by line in place.
///
/// Belongs to the event loop.
struct Input {
    private var buffer = ByteBuffer()
    /// How many bytes were searched without finding a newline.
    private var scanned = 0
    /// The length of the line that was taken last, with its newline.
    private var taken = 0
    /// How many bytes the client's user has been charged for.
    private var charged = 0

    /// Whether the next line was put back: sets before it are answered first, or there was no time for it.
    private(set) var isPutBack = false
    /// Whether the client is read.
    var isRead = true
    /// Whether requests wait until everybody has been written to.
    var isPaused = false
    /// Whether the client has ended its side.
    var hasSeenEnd = false

    enum Next {
        /// A line, of so many bytes without its newline.
        case line(Int)
        /// No line is complete.
        case none
        /// Longer than a line may be; all input is dropped.
        case tooLong
    }

    mutating func received(_ bytes: ByteBuffer) {
        if self.buffer.readableBytes == 0 {
            self.buffer = bytes
        } else {
            // Lines that were taken make room; otherwise a client whose lines never end where a
            // read does would have everything kept that it ever sent.
            if self.buffer.readerIndex > self.buffer.readableBytes {
                self.buffer.discardReadBytes()
            }
            self.buffer.writeImmutableBuffer(bytes)
        }
        self.taken = 0
    }

    /// Drops everything: nothing that the client sends matters any more.
    mutating func clear() {
        self.buffer.clear()
        (self.scanned, self.taken, self.isPutBack) = (0, 0, false)
    }

    /// Finds the next line.
    mutating func next() -> Next {
        let newline = self.newline
        let length = newline ?? self.buffer.readableBytes
        guard length <= RequestLimits.lineBytes else {
            self.clear()
            return .tooLong
        }
        guard newline != nil else {
            self.scanned = length
            // Frees the buffer: it may be larger than what comes next needs.
            if length == 0, self.buffer.storageCapacity > 0 { self.buffer = ByteBuffer() }
            return .none
        }
        self.taken = 0
        return .line(length)
    }

    /// Takes the next line, which has so many bytes, and reads it.
    mutating func takeRequest(_ length: Int) throws(RefusedRequest) -> Request? {
        defer {
            self.buffer.moveReaderIndex(forwardBy: length + 1)
            (self.scanned, self.taken, self.isPutBack) = (0, length + 1, false)
        }
        return try self.buffer.readableBytesUInt8Span.extracting(first: length)
            .withUnsafeBufferPointer { (line) throws(RefusedRequest) in try Request.parse(line) }
    }

    /// The line that was taken last, without its newline.
    var line: ByteBuffer {
        var line = self.buffer
        line.moveReaderIndex(to: line.readerIndex - self.taken)
        return line.readSlice(length: max(0, self.taken - 1)) ?? ByteBuffer()
    }

    /// Puts the line back that was found or taken last, to come again.
    mutating func putBack() {
        self.buffer.moveReaderIndex(to: self.buffer.readerIndex - self.taken)
        (self.taken, self.isPutBack) = (0, true)
    }

    /// Charges the user for what is here now, and no longer for what was.
    mutating func charge(to user: User) {
        user.inputBytes += self.buffer.readableBytes - self.charged
        self.charged = self.buffer.readableBytes
    }

    var hasLine: Bool { self.newline != nil }

    /// Whether there are bytes that were not searched for a newline.
    var hasUnseen: Bool { self.buffer.readableBytes > self.scanned }

    /// Whether a line has begun and not ended.
    var hasBytes: Bool { self.buffer.readableBytes > 0 }

    /// Whether a client that has to wait for its turn has sent so much that it is not read.
    ///
    /// 4 KiB: some tens of requests, so that reading does not stop and start for a client that
    /// sends few. Not tuned.
    var isFull: Bool { self.buffer.readableBytes > 4096 }

    /// The bytes of memory that the buffer takes.
    var capacity: Int { self.buffer.storageCapacity }

    var bytes: ByteBufferView { self.buffer.readableBytesView }

    /// The number of bytes before the first newline.
    private var newline: Int? {
        self.buffer.withUnsafeReadableBytes { bytes in
            guard self.scanned < bytes.count, let base = bytes.baseAddress else { return nil }
            let found = memchr(
                base + self.scanned,
                CInt(UInt8(ascii: "\n")),
                bytes.count - self.scanned
            )
            return found.map { UnsafeRawPointer($0) - base }
        }
    }
}

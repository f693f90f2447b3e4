import Glibc
import NIOCore
import StateMachineProtocol

/// A client's input that was not dealt with, taken line by line in place.
struct InboundLines {
    private var buffer = ByteBuffer()
    /// How many bytes were searched without finding a newline.
    private var scanned = 0

    enum Next {
        /// A line without its newline; its bytes stay valid whatever happens to the rest.
        case line(ByteBuffer)
        /// No line is complete.
        case none
        /// Longer than a line may be.
        case tooLong
    }

    mutating func append(_ bytes: ByteBuffer) {
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
    }

    mutating func clear() {
        self.buffer.clear()
        self.scanned = 0
    }

    /// Takes the next line.
    mutating func next() -> Next {
        let newline = self.newline
        let length = newline ?? self.buffer.readableBytes
        guard length <= RequestLimits.lineBytes else { return .tooLong }
        guard newline != nil, let line = self.buffer.readSlice(length: length) else {
            self.scanned = length
            // Frees the buffer: it may be larger than what comes next needs.
            if length == 0, self.buffer.storageCapacity > 0 { self.buffer = ByteBuffer() }
            return .none
        }
        self.buffer.moveReaderIndex(forwardBy: 1)
        self.scanned = 0
        return .line(line)
    }

    var hasLine: Bool { self.newline != nil }

    /// Whether there are bytes that were not searched for a newline.
    var hasUnseen: Bool { self.buffer.readableBytes > self.scanned }

    /// The number of bytes that were not dealt with.
    var count: Int { self.buffer.readableBytes }

    var hasBytes: Bool { self.buffer.readableBytes > 0 }

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

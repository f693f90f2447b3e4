import Glibc
import NIOCore
import StateMachineProtocol

/// What a client has sent and was not dealt with, taken line by line where it lies.
struct InboundLines {
    private var buffer = ByteBuffer()
    /// Bytes in which no newline was found.
    private var scanned = 0

    enum Next {
        /// Without its newline; the bytes stay whatever becomes of the rest.
        case line(ByteBuffer)
        /// None that is whole.
        case none
        /// Longer than a line may be.
        case tooLong
    }

    mutating func append(_ bytes: ByteBuffer) {
        if self.buffer.readableBytes == 0 {
            self.buffer = bytes
        } else {
            // What has been taken makes room, or a client whose lines never end where a read does would
            // have all that it ever sent kept.
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

    /// Whether there are bytes in which no newline was looked for.
    var hasUnseen: Bool { self.buffer.readableBytes > self.scanned }

    /// Bytes that were not dealt with.
    var count: Int { self.buffer.readableBytes }

    var hasBytes: Bool { self.buffer.readableBytes > 0 }

    /// Bytes of memory that it has.
    var capacity: Int { self.buffer.storageCapacity }

    var bytes: ByteBufferView { self.buffer.readableBytesView }

    /// How many bytes stand before the first newline.
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

import Glibc

/// Writes straight to a connection's socket.
///
/// Changes are sent from the ring's memory, in one system call however many there are, and without
/// anything being queued or allotted for a write. The channel that owns the descriptor stays in charge
/// of all else; it must not have writes of its own under way at the same time.
struct SocketWriter {
    /// Vectors in one call: IOV_MAX of Linux.
    static let vectorLimit = 1024

    let descriptor: CInt

    /// What became of a write.
    enum Outcome {
        /// So many bytes were taken; less than offered means that the socket is full.
        case written(Int)
        /// The peer reads no more.
        case gone
    }

    /// Whether the peer has closed its end, and not only said that it sends no more.
    var isHungUp: Bool {
        var poll = pollfd(fd: self.descriptor, events: 0, revents: 0)
        return Glibc.poll(&poll, 1, 0) == 1 && poll.revents & Int16(POLLHUP) != 0
    }

    func write(_ vectors: inout [iovec]) -> Outcome {
        vectors.withUnsafeMutableBufferPointer { buffer in
            // The common case, which the kernel has less to copy for.
            if buffer.count == 1 {
                let part = buffer[0]
                return self.send { Glibc.send(self.descriptor, part.iov_base, part.iov_len, $0) }
            }
            var message = msghdr()
            message.msg_iov = buffer.baseAddress
            message.msg_iovlen = buffer.count
            return self.send { sendmsg(self.descriptor, &message, $0) }
        }
    }

    func write(_ bytes: ArraySlice<UInt8>) -> Outcome {
        bytes.withUnsafeBytes { buffer in
            self.send { Glibc.send(self.descriptor, buffer.baseAddress, buffer.count, $0) }
        }
    }

    /// The socket once more, and its inode; nil if it cannot be duplicated.
    func duplicate() -> (inode: UInt64, descriptor: CInt)? {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else { return nil }
        // Past the numbers that the next program on this one's place expects to be free.
        let copy = fcntl(self.descriptor, F_DUPFD_CLOEXEC, 3)
        return copy >= 0 ? (UInt64(status.st_ino), copy) : nil
    }

    private func send(_ call: (CInt) -> Int) -> Outcome {
        while true {
            let count = call(CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            if count >= 0 { return .written(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS: return .written(0)
            default: return .gone
            }
        }
    }
}

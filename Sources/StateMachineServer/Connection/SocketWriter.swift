import Glibc

/// Writes straight to a connection's socket.
///
/// Changes are sent from the ring's memory, in one system call however many there are, without
/// queueing or allocating anything for a write. The channel that owns the descriptor stays in
/// charge of everything else; it must not have writes of its own under way at the same time.
struct SocketWriter {
    /// Vectors in one call: IOV_MAX of Linux.
    static let vectorLimit = 1024

    let descriptor: CInt

    /// What became of a write.
    enum Outcome {
        /// So many bytes were taken; less than offered means that the socket is full.
        case written(Int)
        /// The peer no longer reads.
        case gone
    }

    /// Whether the peer has closed its end, not just its sending side.
    var isHungUp: Bool {
        var poll = pollfd(fd: self.descriptor, events: 0, revents: 0)
        return Glibc.poll(&poll, 1, 0) == 1 && poll.revents & Int16(POLLHUP) != 0
    }

    func write(_ vectors: inout [iovec]) -> Outcome {
        vectors.withUnsafeMutableBufferPointer { buffer in
            // The common case, for which the kernel has less to copy.
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

    /// Duplicates the socket; returns its inode too, nil if that fails.
    func duplicate() -> (inode: UInt64, descriptor: CInt)? {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else { return nil }
        // 3 or above: never the number of a standard descriptor.
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

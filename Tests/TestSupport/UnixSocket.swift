import Glibc

/// The plain system calls that the test sockets share.
enum UnixSocket {
    static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Waits until there is something to read, or to write.
    static func wait(for events: CInt, on descriptor: CInt, _ what: String) throws {
        var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        guard Glibc.poll(&poll, 1, longestWait) > 0 else {
            throw TestFailure("nothing happened while waiting for \(what)")
        }
    }
}

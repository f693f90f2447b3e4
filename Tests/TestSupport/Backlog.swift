import Glibc

/// Connections that nobody accepts: as many as a listening socket queues.
package enum Backlog {
    /// Connects until there is no more room, or `most` times; returns how many connected.
    ///
    /// The listener must not accept meanwhile.
    package static func fill(_ path: String, atMost most: Int) throws -> Int {
        try self.raiseDescriptors()
        var clients: [Descriptor] = []
        while clients.count < most {
            let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let client = Descriptor(socket(AF_UNIX, type, 0), name: "client")
            guard UnixSocket.withAddress(path, { connect(client.number, $0, $1) }) == 0 else {
                guard errno == EAGAIN else { throw TestFailure("\(path): errno \(errno)") }
                break
            }
            clients.append(client)
        }
        return clients.count
    }

    /// Each connection takes a descriptor, and a process has a thousand unless it asks for more.
    package static func raiseDescriptors() throws {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { throw TestFailure("errno \(errno)") }
        limit.rlim_cur = limit.rlim_max
        guard setrlimit(resource, &limit) == 0 else { throw TestFailure("errno \(errno)") }
    }
}

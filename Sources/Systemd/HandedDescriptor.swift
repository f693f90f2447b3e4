internal import CSystemd
internal import Glibc

/// A descriptor that the service manager handed over at the start: sd_listen_fds_with_names(3).
///
/// It belongs to whoever takes it from the list; it is closed on exec.
package struct HandedDescriptor: Hashable, Sendable {
    /// Its name in the unit (`FileDescriptorName=`), or the one it was stored under.
    package let name: String
    package let descriptor: CInt

    package init(name: String, descriptor: CInt) {
        self.name = name
        self.descriptor = descriptor
    }

    /// All descriptors passed to this process, in the manager's order.
    ///
    /// Only the first call in a process returns any: the variables that announce them are removed,
    /// so that neither a child nor a second caller takes them for its own.
    package static func takeAll() -> [HandedDescriptor] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count > 0, let names else { return [] }
        defer { free(names) }
        return (0..<Int(count)).map { index in
            let name = names[index].map { String(cString: $0) } ?? ""
            free(names[index])
            return HandedDescriptor(name: name, descriptor: 3 + CInt(index))
        }
    }

    /// What it is, in words.
    package var kind: String { DescriptorKind(of: self.descriptor).description }
}

/// What a descriptor is, as far as a server cares.
package enum DescriptorKind: Hashable, Sendable, CustomStringConvertible {
    /// A listening Unix stream socket; `path` is empty if its address is not a file.
    case listening(path: String)
    /// A connected Unix stream socket.
    case connected
    /// A socket that is bound and neither of these: in words.
    case bound(String)
    /// Any other socket, unbound or connected: in words.
    case loose(String)
    /// Not a socket.
    case noSocket
    case closed

    package init(of descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            self = .closed
            return
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            self = .noSocket
            return
        }
        let domain = Self.option(SO_DOMAIN, of: descriptor)
        let type = Self.option(SO_TYPE, of: descriptor)
        let isStream = domain == AF_UNIX && type == CInt(SOCK_STREAM.rawValue)
        let isListening = Self.option(SO_ACCEPTCONN, of: descriptor) == 1
        let isConnected = Self.address(of: descriptor, getpeername) != nil
        let own = Self.address(of: descriptor, getsockname) ?? []
        // Two bytes are the family alone: an address that was never bound.
        let isBound = own.count > 2
        if isStream, isListening {
            let path = own.dropFirst(2).prefix { $0 != 0 }
            self = .listening(path: String(decoding: path, as: UTF8.self))
        } else if isStream, isConnected {
            self = .connected
        } else {
            let words = Self.words(domain, type, isListening: isListening)
            self = isBound && !isConnected ? .bound(words) : .loose(words)
        }
    }

    package var description: String {
        switch self {
        case .listening: "a listening Unix stream socket"
        case .connected: "a connected Unix stream socket"
        case .bound(let words), .loose(let words): words
        case .noSocket: "not a socket"
        case .closed: "not open"
        }
    }

    private static func words(_ domain: CInt, _ type: CInt, isListening: Bool) -> String {
        let family =
            switch domain {
            case AF_UNIX: "a Unix"
            case AF_INET: "an IPv4"
            case AF_INET6: "an IPv6"
            case AF_NETLINK: "a netlink"
            default: "a family \(domain)"
            }
        let kind =
            switch type {
            case CInt(SOCK_STREAM.rawValue): "stream"
            case CInt(SOCK_DGRAM.rawValue): "datagram"
            case CInt(SOCK_SEQPACKET.rawValue): "sequential packet"
            default: "type \(type)"
            }
        return "\(family) \(kind) socket that \(isListening ? "listens" : "does not listen")"
    }

    /// An option of a socket, of the level `SOL_SOCKET`; -1 if it is no socket.
    package static func option(_ name: CInt, of descriptor: CInt) -> CInt {
        var value: CInt = -1
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : -1
    }

    private static func address(
        of descriptor: CInt,
        _ call: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> [UInt8]? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(descriptor, $0, &length)
            }
        }
        guard result == 0 else { return nil }
        return withUnsafeBytes(of: storage) { Array($0.prefix(Int(length))) }
    }
}

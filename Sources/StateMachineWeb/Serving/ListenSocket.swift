import Glibc
package import Systemd

/// The socket on which the page is served: bound by us, or handed over by the service manager.
package enum ListenSocket: Sendable {
    case address(ListenAddress)
    case handed(CInt)

    /// The socket that was handed over, if any was, else the address.
    ///
    /// - Throws: ``WebError`` if what was handed over cannot be used.
    package init(handed: [HandedDescriptor], else address: ListenAddress) throws(WebError) {
        guard let first = handed.first else {
            self = .address(address)
            return
        }
        guard handed.count == 1 else {
            throw WebError(
                "the service manager handed over \(handed.count) sockets; the page takes one; give the unit one"
            )
        }
        guard DescriptorKind.option(SO_ACCEPTCONN, of: first.descriptor) == 1 else {
            throw WebError(
                "the service manager handed over \(first.kind); the page takes a stream socket that listens"
            )
        }
        self = .handed(first.descriptor)
    }

    /// Whether it is in the file system, where no browser reaches it by itself.
    var isUnix: Bool {
        switch self {
        case .address(.unix): true
        case .address(.internet): false
        case .handed(let descriptor): DescriptorKind.option(SO_DOMAIN, of: descriptor) == AF_UNIX
        }
    }
}

import Glibc
import NIOCore
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
                "the service manager handed over \(handed.count) sockets, but the page takes one; correct the socket unit"
            )
        }
        guard DescriptorKind.option(SO_ACCEPTCONN, of: first.descriptor) == 1 else {
            throw WebError(
                "the service manager handed over \(first.kind), but the page needs a listening stream socket; correct the socket unit"
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

/// Where the page is served, as given to `--listen`.
package enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A numeric IP address and a port; 0 is any port that is free.
    case internet(host: String, port: Int)
    /// A socket in the file system.
    case unix(path: String)

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `unix:PATH`; else nil.
    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = text.dropFirst(5)
            guard !path.isEmpty else { return nil }
            self = .unix(path: String(path))
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        var host = String(text[..<colon])
        if host == "localhost" { host = "127.0.0.1" }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = String(host.dropFirst().dropLast()) }
        guard let address = Self.numeric(host), let host = address.ipAddress,
            (address.protocol == .inet6) == isBracketed
        else { return nil }
        self = .internet(host: host, port: Int(port))
    }

    /// Whether only this machine can reach it.
    package var isLocal: Bool {
        switch self {
        case .internet(let host, _): host.hasPrefix("127.") || host == "::1"
        case .unix: true
        }
    }

    package var description: String {
        switch self {
        case .internet(let host, let port):
            host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Whether the text is a numeric address, not a name.
    static func isNumber(_ host: String) -> Bool { self.numeric(host) != nil }

    /// Nil for a name, and for an address with a scope, on which nothing can listen.
    private static func numeric(_ host: String) -> SocketAddress? {
        host.contains("%") ? nil : try? SocketAddress(ipAddress: host, port: 0)
    }
}

/// Why the page cannot be served: a sentence that says what to do.
package struct WebError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

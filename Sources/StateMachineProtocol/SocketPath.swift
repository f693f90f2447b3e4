import CPlatform

/// The path of a Unix socket, for whoever listens there and whoever connects: one limit for both.
package enum SocketPath {
    /// Bytes of a path that fit into an address with the zero at its end: unix(7).
    package static let limit = 107

    /// A stream socket that does not block and is closed on exec; -1 with `errno` if there is none.
    package static func makeSocket() -> CInt { platform_stream_socket() }

    /// Binds a socket to a path; returns 0, or -1 with `errno`.
    package static func bind(_ descriptor: CInt, to path: String) -> CInt {
        platform_bind(descriptor, path)
    }

    /// Connects a socket to whoever listens at a path; returns 0, or -1 with `errno`.
    package static func connect(_ descriptor: CInt, to path: String) -> CInt {
        platform_connect(descriptor, path)
    }
}

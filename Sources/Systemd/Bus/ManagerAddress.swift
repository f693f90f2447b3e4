internal import Glibc

/// How to reach a service manager: its own socket, which only its user can open.
package struct ManagerAddress: Hashable, Sendable {
    package let socket: String

    package init(socket: String) { self.socket = socket }

    /// The system's manager, which only root can reach.
    package static var system: ManagerAddress { ManagerAddress(socket: "/run/systemd/private") }

    /// The manager of this process's user; nil if there is no runtime directory.
    package static var user: ManagerAddress? {
        guard let directory = getenv("XDG_RUNTIME_DIR") else { return nil }
        return ManagerAddress(socket: "\(String(cString: directory))/systemd/private")
    }

    /// Whether the socket exists.
    package var isThere: Bool { access(self.socket, F_OK) == 0 }

    /// As a D-Bus address: bytes that are not plain become a per cent sign and two digits.
    var text: String {
        "unix:path="
            + self.socket.utf8.map { byte in
                let isPlain = Self.plain.contains(byte)
                let digits = String(byte, radix: 16)
                return isPlain
                    ? String(Unicode.Scalar(byte)) : "%\(digits.count == 1 ? "0" : "")\(digits)"
            }
            .joined()
    }

    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.*".utf8
    )
}

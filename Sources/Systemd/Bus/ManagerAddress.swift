internal import Glibc

/// Where a service manager is to be reached: its own socket, which only its user can open.
package struct ManagerAddress: Hashable, Sendable {
    package let socket: String

    package init(socket: String) { self.socket = socket }

    /// The system's, which root alone reaches.
    package static var system: ManagerAddress { ManagerAddress(socket: "/run/systemd/private") }

    /// The manager of the user that this process runs as; nil if there is no directory for one.
    package static var user: ManagerAddress? {
        guard let directory = getenv("XDG_RUNTIME_DIR") else { return nil }
        return ManagerAddress(socket: "\(String(cString: directory))/systemd/private")
    }

    /// Whether something is there that may be one.
    package var isThere: Bool { access(self.socket, F_OK) == 0 }

    /// As D-Bus writes it: whatever is not plain is a per cent sign and two digits.
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

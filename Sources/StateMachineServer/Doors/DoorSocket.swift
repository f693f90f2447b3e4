import Glibc
import StateMachineProtocol

/// A door's socket in the file system.
///
/// `descriptor` belongs to whoever listens on it. A socket that is made here is bound, has its mode
/// and does not listen yet; ``remove()`` removes its file, but only if it is still the one that was
/// made. A socket that was handed over is used as it is, and its file is never touched.
struct DoorSocket: Sendable {
    let path: String
    let descriptor: CInt
    /// The inode of the file that was made here; nil for a socket that was handed over.
    private let inode: ino_t?

    /// Connections that may wait to be accepted, within the kernel's own limit
    /// (`net.core.somaxconn`).
    ///
    /// 1024 unless the manager made the socket; its number (`Backlog=`) cannot be asked for, and is
    /// usually as many as the kernel allows.
    var backlog: CInt { self.inode == nil ? .max : 1024 }

    init(_ door: Door, in directory: RuntimeDirectory) throws(DaemonError) {
        let path = directory.socketPath(of: door)
        guard path.utf8.count <= SocketPath.limit else {
            throw DaemonError(
                lasting:
                    "the socket path \(path) is too long: it has \(path.utf8.count) bytes, and may have "
                    + "\(SocketPath.limit); give a shorter --runtime-directory"
            )
        }
        try Self.makeRoom(at: path)
        let descriptor = try Self.socket()
        // The mode of the socket becomes the mode of the file, less the umask, so nobody can come in
        // before chmod has said who may.
        guard fchmod(descriptor, door.mode) == 0,
            SocketPath.bind(descriptor, to: path) == 0,
            chmod(path, door.mode) == 0
        else {
            let code = errno
            close(descriptor)
            throw DaemonError(cannot: "create the socket \(path)", errno: code)
        }
        self.path = path
        self.descriptor = descriptor
        self.inode = Self.status(of: path)?.st_ino
    }

    /// A socket that the service manager made, and listens on.
    init(_ handle: HandedSockets.DoorHandle) {
        self.path = handle.path
        self.descriptor = handle.descriptor
        self.inode = nil
    }

    func remove() {
        guard let inode, Self.status(of: self.path)?.st_ino == inode else { return }
        unlink(self.path)
    }

    /// Removes a socket that nobody listens on any more; refuses if anything else is in the way.
    private static func makeRoom(at path: String) throws(DaemonError) {
        guard let status = self.status(of: path) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw DaemonError(lasting: "\(path) is in the way: it is not a socket; remove it")
        }
        let probe = try self.socket()
        defer { close(probe) }
        if SocketPath.connect(probe, to: path) == 0 || errno == EAGAIN {
            throw DaemonError(
                lasting:
                    "a daemon is listening on \(path); stop it, or give another --runtime-directory"
            )
        }
        guard errno == ECONNREFUSED else {
            throw DaemonError(cannot: "find out whether \(path) is in use", errno: errno)
        }
        guard unlink(path) == 0 else {
            throw DaemonError(cannot: "remove the stale socket \(path)", errno: errno)
        }
    }

    private static func socket() throws(DaemonError) -> CInt {
        let descriptor = SocketPath.makeSocket()
        guard descriptor >= 0 else { throw DaemonError(cannot: "create a socket", errno: errno) }
        return descriptor
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }
}

extension Door {
    /// Who may connect, which on Linux takes write permission.
    fileprivate var mode: UInt32 {
        switch self {
        case .control: 0o660
        case .events: 0o666
        }
    }
}

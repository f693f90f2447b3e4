import Glibc
package import StateMachineProtocol

/// The doors' sockets: those that were handed over, and those that the daemon makes for itself.
struct OpenDoors: Sendable {
    let sockets: [(door: Door, socket: DoorSocket)]

    /// Where they are, for the log.
    let directory: String

    /// Held while the directory has sockets of our own; sockets that were handed over are ours
    /// alone already, and the directory may be anybody's.
    private let lock: DirectoryLock?

    /// - Throws: `DaemonError`; then no socket is left behind.
    init(
        _ handed: [Door: HandedSockets.DoorHandle],
        runtimeDirectory asked: String?
    ) throws(DaemonError) {
        let isComplete = Door.allCases.allSatisfy { handed[$0] != nil }
        let lock = isComplete ? nil : try DirectoryLock(Self.directory(asked))
        var sockets: [(door: Door, socket: DoorSocket)] = []
        do {
            for door in Door.allCases {
                if let handle = handed[door] {
                    sockets.append((door, DoorSocket(handle)))
                } else if let lock {
                    sockets.append((door, try DoorSocket(door, in: lock.directory)))
                }
            }
        } catch {
            for (_, socket) in sockets { socket.remove() }
            throw error
        }
        self.sockets = sockets
        self.lock = lock
        self.directory =
            lock?.directory.path ?? handed[.control]?.path.split(separator: "/").dropLast()
            .map { "/\($0)" }.joined() ?? ""
    }

    private static func directory(_ asked: String?) throws(DaemonError) -> RuntimeDirectory {
        if let asked { return RuntimeDirectory(asked) }
        return try .ofDaemon(
            environment: { name in getenv(name).map { String(cString: $0) } },
            isRoot: geteuid() == 0
        )
    }
}

extension RuntimeDirectory {
    /// The runtime directory of a daemon that is not told one.
    package static func ofDaemon(
        environment: (String) -> String?,
        isRoot: Bool
    ) throws(DaemonError) -> RuntimeDirectory {
        if let path = self.byDefault(environment: environment, isRoot: isRoot) { return path }
        throw DaemonError(
            lasting:
                "no runtime directory is set; give --runtime-directory, or set $\(self.variable), "
                + "$RUNTIME_DIRECTORY (as systemd does) or $XDG_RUNTIME_DIR"
        )
    }
}

import Glibc

/// The directory in which a daemon's two sockets stand.
public struct RuntimeDirectory: Hashable, Sendable, CustomStringConvertible {
    /// Where a daemon that belongs to the system has it.
    public static let system = RuntimeDirectory("/run/statemachine")

    /// The path, as it was given.
    public let path: String

    /// The directory of that path; nothing is looked up.
    public init(_ path: String) {
        self.path = path
    }

    /// The path.
    public var description: String { self.path }

    /// Where that door's socket is, or would be.
    public func socketPath(of door: Door) -> String { "\(self.path)/\(door.fileName)" }

    /// The directory in which this process should look for a daemon.
    ///
    /// The first of `$RUNTIME_DIRECTORY`, which systemd sets as a list with colons; else
    /// `/run/statemachine` for root; else whichever of `/run/statemachine` and
    /// `$XDG_RUNTIME_DIR/statemachine` has a socket in it.
    ///
    /// - Throws: ``ClientError/notFound(tried:)`` if neither has.
    public static func discover() throws(ClientError) -> RuntimeDirectory {
        try self.discover(
            environment: { name in getenv(name).map { String(cString: $0) } },
            isRoot: geteuid() == 0,
            hasSocket: { $0.hasSocket }
        )
    }

    static func discover(
        environment: (String) -> String?,
        isRoot: Bool,
        hasSocket: (RuntimeDirectory) -> Bool
    ) throws(ClientError) -> RuntimeDirectory {
        let list = environment("RUNTIME_DIRECTORY") ?? ""
        if let first = list.split(separator: ":").first { return RuntimeDirectory(String(first)) }
        if isRoot { return .system }
        var candidates = [RuntimeDirectory.system]
        if let own = environment("XDG_RUNTIME_DIR"), !own.isEmpty {
            candidates.append(RuntimeDirectory("\(own)/statemachine"))
        }
        if let found = candidates.first(where: hasSocket) { return found }
        throw .notFound(tried: candidates.map { $0.socketPath(of: .events) })
    }

    /// Whether a door can be seen; a directory that may not be looked into counts, so that the
    /// answer is "not permitted" and not "not there".
    private var hasSocket: Bool {
        Door.allCases.contains { door in
            var status = stat()
            return stat(self.socketPath(of: door), &status) == 0 || errno == EACCES
        }
    }
}

/// The directory of a daemon's two sockets.
public struct RuntimeDirectory: Hashable, Sendable, CustomStringConvertible {
    /// The directory of a system daemon.
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

    /// The first of `$RUNTIME_DIRECTORY`, which systemd sets to a colon-separated list if a unit
    /// has several.
    package static func ofService(_ environment: (String) -> String?) -> RuntimeDirectory? {
        environment("RUNTIME_DIRECTORY")?.split(separator: ":").first
            .map { RuntimeDirectory(String($0)) }
    }

    /// The directory given to a client in `$STATEMACHINE_RUNTIME_DIRECTORY`.
    ///
    /// Not what systemd sets: any unit may have a runtime directory, while its commands are clients
    /// of another daemon.
    package static func named(_ environment: (String) -> String?) -> RuntimeDirectory? {
        guard let path = environment(self.variable), !path.isEmpty else { return nil }
        return RuntimeDirectory(path)
    }

    /// The variable that names it to a client, and, as one of its settings, to the daemon.
    package static var variable: String { "STATEMACHINE_RUNTIME_DIRECTORY" }

    /// The directory of a user's own daemon: `$XDG_RUNTIME_DIR/statemachine`.
    package static func ofUser(_ environment: (String) -> String?) -> RuntimeDirectory? {
        guard let directory = environment("XDG_RUNTIME_DIR"), !directory.isEmpty else { return nil }
        return RuntimeDirectory("\(directory)/statemachine")
    }

    /// The default for a daemon, never a world-writable place; nil if the environment names none.
    package static func byDefault(
        environment: (String) -> String?,
        isRoot: Bool
    ) -> RuntimeDirectory? {
        self.ofService(environment) ?? (isRoot ? .system : self.ofUser(environment))
    }
}

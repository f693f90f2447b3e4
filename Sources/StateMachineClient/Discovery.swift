import Glibc
public import StateMachineProtocol

extension RuntimeDirectory {
    /// The directory in which this process should look for a daemon.
    ///
    /// `$STATEMACHINE_RUNTIME_DIRECTORY` if it is set; else `/run/statemachine` for root; else whichever of `/run/statemachine` and
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

    /// The directory at that path, else that of the instance of that name, else the one that is to be looked for.
    package static func find(
        path: String?,
        instance: String?
    ) throws(ClientError) -> RuntimeDirectory {
        if let path { return RuntimeDirectory(path) }
        if let instance { return try Instance.directory(of: instance) }
        return try self.discover()
    }

    static func discover(
        environment: (String) -> String?,
        isRoot: Bool,
        hasSocket: (RuntimeDirectory) -> Bool
    ) throws(ClientError) -> RuntimeDirectory {
        if let named = self.named(environment) { return named }
        if isRoot { return .system }
        let candidates = [.system] + [self.ofUser(environment)].compactMap { $0 }
        if let found = candidates.first(where: hasSocket) { return found }
        throw .notFound(tried: candidates.map { $0.socketPath(of: .events) })
    }

    /// Whether a door can be seen; a directory that may not be searched counts as having one, so
    /// that the answer is "not permitted" and not "not there".
    var hasSocket: Bool {
        Door.allCases.contains { door in
            var status = stat()
            return stat(self.socketPath(of: door), &status) == 0 || errno == EACCES
        }
    }
}

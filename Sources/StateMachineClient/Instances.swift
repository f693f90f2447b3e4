import Glibc
import Processes
public import StateMachineProtocol
import SystemPackage

/// A place where a daemon's doors are, and the instance's name there.
public struct Instance: Hashable, Sendable {
    /// Nil for the unnamed instance of the system, or of the user.
    public let name: String?
    /// Where its doors are.
    public let directory: RuntimeDirectory

    /// All visible instances: those in `$STATEMACHINE_RUNTIME_DIRECTORY`, the system's, then this
    /// user's, each time the unnamed one first; one that is found twice is listed by its name.
    ///
    /// A daemon may be gone and have left its sockets behind.
    public static func all() -> [Instance] {
        self.all { name in getenv(name).map { String(cString: $0) } }
    }

    static func all(environment: (String) -> String?) -> [Instance] {
        self.all(in: self.bases(environment))
    }

    static func all(in bases: [RuntimeDirectory]) -> [Instance] {
        let found = bases.flatMap { base in
            let names = FilePath(base.path).names.filter(self.isName).sorted()
            let named = names.map { name in
                Instance(name: name, directory: RuntimeDirectory("\(base.path)/\(name)"))
            }
            return ([Instance(name: nil, directory: base)] + named)
                .filter(\.directory.hasSocket)
        }
        let named = Set(found.filter { $0.name != nil }.map(\.directory))
        return found.filter { $0.name != nil || !named.contains($0.directory) }
    }

    /// The directories that are searched for instances.
    public static var places: [String] {
        self.bases { name in getenv(name).map { String(cString: $0) } }.map(\.path)
    }

    /// The directory of the instance of that name: in `$STATEMACHINE_RUNTIME_DIRECTORY`, else the
    /// system's, else this user's.
    ///
    /// - Throws: ``ClientError/noInstance(_:tried:known:)`` if none has a socket.
    public static func directory(of name: String) throws(ClientError) -> RuntimeDirectory {
        try self.directory(of: name) { name in getenv(name).map { String(cString: $0) } }
    }

    static func directory(
        of name: String,
        environment: (String) -> String?
    ) throws(ClientError) -> RuntimeDirectory {
        let candidates = self.bases(environment).map { RuntimeDirectory("\($0.path)/\(name)") }
        // A path is not a name.
        if self.isName(name), let found = candidates.first(where: \.hasSocket) { return found }
        let known = self.all(environment: environment).compactMap(\.name)
        throw .noInstance(name, tried: candidates.map(\.path), known: known)
    }

    private static func bases(_ environment: (String) -> String?) -> [RuntimeDirectory] {
        let named = RuntimeDirectory.named(environment).map { directory in
            // Completion by a shell leaves a slash at the end.
            var path = directory.path[...]
            while path.count > 1, path.last == "/" { path.removeLast() }
            return RuntimeDirectory(String(path))
        }
        let usual = [.system] + [RuntimeDirectory.ofUser(environment)].compactMap(\.self)
        return [named].compactMap(\.self) + usual.filter { $0 != named }
    }

    /// Whether an instance can have that name; a path is not a name.
    package static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
    }
}

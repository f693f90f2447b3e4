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
    public static var directories: [String] {
        self.bases { name in getenv(name).map { String(cString: $0) } }.map(\.path)
    }

    /// The directory of the instance of that name: in `$STATEMACHINE_RUNTIME_DIRECTORY`, else beside that if it is a
    /// machine's own, else the system's, else this user's.
    ///
    /// - Throws: ``ClientError/noInstance(_:tried:known:)`` if none has a socket.
    public static func directory(of name: String) throws(ClientError) -> RuntimeDirectory {
        try self.directory(of: name) { name in getenv(name).map { String(cString: $0) } }
    }

    static func directory(
        of name: String,
        environment: (String) -> String?
    ) throws(ClientError) -> RuntimeDirectory {
        var bases = self.bases(environment)
        if RuntimeDirectory.named(environment) != nil, let beside = self.parent(of: bases[0]),
            !bases.contains(beside)
        {
            bases.insert(beside, at: 1)
        }
        let candidates = bases.map { RuntimeDirectory("\($0.path)/\(name)") }
        // A path is not a name.
        if self.isName(name), let found = candidates.first(where: \.hasSocket) { return found }
        let known = self.all(environment: environment).compactMap(\.name)
        throw .noInstance(name, tried: candidates.map(\.path), known: known)
    }

    /// Where the neighbours of a machine are: the variable names the machine's own directory to what `statectl` runs.
    ///
    /// Nil if it is no machine's directory, or if anybody else could put a socket beside it.
    private static func parent(of directory: RuntimeDirectory) -> RuntimeDirectory? {
        let parent = FilePath(directory.path).removingLastComponent().string
        guard directory.hasSocket, !parent.isEmpty, parent != directory.path else { return nil }
        let descriptor = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, [0, geteuid()].contains(status.st_uid),
            OtherWriters.of(descriptor).isEmpty
        else { return nil }
        return RuntimeDirectory(parent)
    }

    private static func bases(_ environment: (String) -> String?) -> [RuntimeDirectory] {
        let named = RuntimeDirectory.named(environment)?.withoutSlash
        let usual = [.system] + [RuntimeDirectory.ofUser(environment)].compactMap(\.self)
        return [named].compactMap(\.self) + usual.filter { $0 != named }
    }

    /// Whether an instance can have that name; a path is not a name.
    package static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
    }
}

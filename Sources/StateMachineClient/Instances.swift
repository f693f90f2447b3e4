import Glibc
public import StateMachineProtocol

/// A place where a daemon's doors are, and the instance's name there.
public struct Instance: Hashable, Sendable {
    /// Nil for the unnamed instance of the system, or of the user.
    public let name: String?
    /// Where its doors are.
    public let directory: RuntimeDirectory

    /// All visible instances: the system's, then this user's, each time the unnamed one first.
    ///
    /// A daemon may be gone and have left its sockets behind.
    public static func all() -> [Instance] {
        self.all { name in getenv(name).map { String(cString: $0) } }
    }

    static func all(environment: (String) -> String?) -> [Instance] {
        self.all(in: self.bases(environment))
    }

    static func all(in bases: [RuntimeDirectory]) -> [Instance] {
        bases.flatMap { base in
            let named = Self.names(in: base.path).sorted().map { name in
                Instance(name: name, directory: RuntimeDirectory("\(base.path)/\(name)"))
            }
            return ([Instance(name: nil, directory: base)] + named)
                .filter(\.directory.hasSocket)
        }
    }

    /// The directories that are searched for instances.
    public static var places: [String] {
        self.bases { name in getenv(name).map { String(cString: $0) } }.map(\.path)
    }

    /// The directory of the instance of that name: the system's, else this user's.
    ///
    /// - Throws: ``ClientError/noInstance(_:nearest:)`` if neither has a door.
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
        throw .noInstance(name, nearest: NearestName.of(name, among: known))
    }

    private static func bases(_ environment: (String) -> String?) -> [RuntimeDirectory] {
        [.system] + [RuntimeDirectory.ofUser(environment)].compactMap(\.self)
    }

    /// Whether an instance can have that name; a path is not a name.
    package static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
    }

    /// The names in a directory; none if it may not be read.
    private static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if self.isName(name) { names.append(name) }
        }
        return names
    }
}

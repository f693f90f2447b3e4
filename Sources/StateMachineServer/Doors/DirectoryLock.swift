import Glibc
import Processes
import StateMachineProtocol

/// Keeps other daemons out of the directory that holds the doors, for as long as this value lives.
///
/// It locks a file in the directory, so that of two daemons started at once one gets it; the directory itself, which
/// clients may open, anybody could lock.
final class DirectoryLock: Sendable {
    let directory: RuntimeDirectory
    private let file: LockFile

    /// Makes the directory and its parents if they are missing, and takes the lock in it.
    init(_ runtimeDirectory: RuntimeDirectory) throws(DaemonError) {
        let path = runtimeDirectory.path
        if let errno = Self.make(path) {
            throw DaemonError(cannot: "create the runtime directory \(path)", errno: errno)
        }
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else {
            throw DaemonError(cannot: "open the runtime directory \(path)", errno: errno)
        }
        defer { close(directory) }
        try Self.checkOwner(of: directory, at: path)
        self.directory = runtimeDirectory
        self.file = try Self.lock(in: path)
    }

    /// Makes the directory and its parents; returns the error number, nil if it is there.
    private static func make(_ path: String) -> CInt? {
        if mkdir(path, 0o755) == 0 || errno == EEXIST { return nil }
        let code = errno
        guard code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex,
            self.make(String(path[..<slash])) == nil
        else { return code }
        return mkdir(path, 0o755) == 0 || errno == EEXIST ? nil : errno
    }

    private static func lock(in path: String) throws(DaemonError) -> LockFile {
        let file = "\(path)/statemachine.lock"
        do throws(LockFile.Failure) {
            return try LockFile(at: file)
        } catch {
            switch error {
            case .taken(let owner):
                throw DaemonError(
                    lasting: "another daemon is running in \(path)\(owner); stop it, or give "
                        + "another --runtime-directory"
                )
            case .obstructed:
                throw DaemonError(
                    lasting: "\(file) is in the way: it is not a lock file of this user; remove it"
                )
            case .system(let code): throw DaemonError(cannot: "lock \(file)", errno: code)
            }
        }
    }

    /// Refuses a directory in which somebody else could put sockets in the doors' places.
    private static func checkOwner(of directory: CInt, at path: String) throws(DaemonError) {
        let status = try self.status(of: directory, at: path)
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw DaemonError(
                lasting: "the runtime directory \(path) belongs to uid \(status.st_uid); "
                    + "remove it, or give another --runtime-directory"
            )
        }
        let writers = OtherWriters.of(directory)
        guard writers.isEmpty else {
            // One for everybody, as /tmp is, has to stay that.
            let remedy =
                status.st_mode & S_ISVTX == 0
                ? "run chmod \(writers)-w \(path), or give another"
                : "create a directory in it, and give that as"
            throw DaemonError(
                lasting:
                    "other users may write to the runtime directory \(path); \(remedy) --runtime-directory"
            )
        }
    }

    private static func status(of descriptor: CInt, at path: String) throws(DaemonError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw DaemonError(cannot: "examine \(path)", errno: errno)
        }
        return status
    }

    deinit { self.file.remove() }
}

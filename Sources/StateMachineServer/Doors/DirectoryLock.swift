import Glibc
import StateMachineProtocol

/// Keeps other daemons out of the directory that holds the doors, for as long as this value lives.
///
/// It locks a file in the directory (`flock`), so that of two daemons started at once one gets it.
/// Only its owner can open that file; the directory itself, which clients may open, anybody could
/// lock.
final class DirectoryLock: Sendable {
    let directory: RuntimeDirectory
    private let descriptor: CInt

    /// The name of the file that is locked; one left over from before will do.
    private static let lockName = "statemachine.lock"

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
        self.descriptor = try Self.lock(in: directory, of: path)
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

    /// Takes the lock; tries again if the daemon that had it has removed the file meanwhile.
    private static func lock(in directory: CInt, of path: String) throws(DaemonError) -> CInt {
        while true {
            let descriptor = try self.openLock(in: directory, at: "\(path)/\(self.lockName)")
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                close(descriptor)
                guard code == EWOULDBLOCK else {
                    throw DaemonError(cannot: "lock the runtime directory \(path)", errno: code)
                }
                throw DaemonError(
                    lasting: "another daemon is running in \(path); stop it, or give another "
                        + "--runtime-directory"
                )
            }
            var status = stat()
            if fstat(descriptor, &status) != 0 || status.st_nlink > 0 { return descriptor }
            close(descriptor)
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
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            // One for everybody, as /tmp is, has to stay that.
            let remedy =
                status.st_mode & S_ISVTX == 0
                ? "run chmod go-w \(path), or give another"
                : "create a directory in it, and give that as"
            throw DaemonError(
                lasting:
                    "other users may write to the runtime directory \(path); \(remedy) --runtime-directory"
            )
        }
    }

    private static func openLock(in directory: CInt, at path: String) throws(DaemonError) -> CInt {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = openat(directory, self.lockName, flags, 0o600)
        guard descriptor >= 0 else {
            throw DaemonError(cannot: "open the lock \(path)", errno: errno)
        }
        do throws(DaemonError) {
            let status = try self.status(of: descriptor, at: path)
            guard status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG else {
                throw DaemonError(
                    lasting: "\(path) is in the way: it is not a lock file of this user; remove it"
                )
            }
            // Whoever has it open already could still hold it; nobody else can open it from here
            // on.
            guard status.st_mode & 0o077 == 0 || fchmod(descriptor, 0o600) == 0 else {
                throw DaemonError(cannot: "set the mode of \(path)", errno: errno)
            }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func status(of descriptor: CInt, at path: String) throws(DaemonError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw DaemonError(cannot: "examine \(path)", errno: errno)
        }
        return status
    }

    deinit {
        let path = "\(self.directory.path)/\(Self.lockName)"
        var (own, named) = (stat(), stat())
        // If the directory was made anew meanwhile, the file of that name is another daemon's.
        if fstat(self.descriptor, &own) == 0, lstat(path, &named) == 0,
            own.st_dev == named.st_dev, own.st_ino == named.st_ino
        {
            // Still locked: whoever has opened it meanwhile finds that it no longer has a name.
            unlink(path)
        }
        close(self.descriptor)
    }
}

import Glibc

/// Files that belong to the process's user, and are closed to everybody else.
enum PrivateFile {
    /// Removes all others' permissions for a file, if it exists, in a directory that is closed to
    /// them.
    ///
    /// By its name: in POSIX, a process loses its locks on a file when it closes a descriptor of
    /// it.
    ///
    /// - Throws: ``HistoryError`` unless it is a file of this user's own, with one name.
    static func close(_ path: String) throws(HistoryError) {
        var status = stat()
        // Anything else that is wrong with it shows when it is opened.
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return }
        guard status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1
        else {
            throw HistoryError(notPrivate: path)
        }
        guard status.st_mode & 0o077 != 0, chmod(path, 0o600) != 0, errno != EROFS else { return }
        throw HistoryError("cannot set the mode of \(path)", errno: errno)
    }

    /// Creates an empty file, unless it exists or there is no room.
    static func create(_ path: String) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = open(path, flags, 0o600)
        if descriptor >= 0 { Glibc.close(descriptor) }
    }
}

/// The database's files by what they are, and not by name.
///
/// What is written to a file that has been removed or renamed is on no disk that the next start
/// looks at, and SQLite does not notice. Nor does it notice a file that is copied over the database.
struct OpenedFiles {
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
    }

    /// What a file has been left as.
    private struct Content: Equatable {
        let identity: Identity
        let length: off_t
        let seconds: Int
        let nanoseconds: Int

        /// Nil if nothing has that name.
        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            self.identity = Identity(device: status.st_dev, inode: status.st_ino)
            self.length = status.st_size
            self.seconds = status.st_mtim.tv_sec
            self.nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// The database and its log; nil until they are first seen, which is when they are opened.
    private var known: [String: Identity] = [:]
    /// The database, which only checkpoints of this process write to; nil during one, and before it is opened.
    private var content: Content?

    /// Notes that this process is about to write to the database, or has done so.
    mutating func writes(to database: String, isDone: Bool) {
        self.content = isDone ? Content(database) : nil
    }

    /// - Throws: `HistoryError` if something else has written to the database: what is read of it, or of the log,
    ///   may be anything.
    func checkContent(of database: String) throws(HistoryError) {
        guard let content, let found = Content(database), found != content,
            found.identity == content.identity
        else { return }
        throw HistoryError(
            "\(database) was overwritten while it was in use; stop the daemon, put the right "
                + "database there, delete the files with -wal and -shm beside it, and start the daemon"
        )
    }

    /// - Throws: `HistoryError` if a file is not the one any more that was opened, or not as it was left.
    mutating func check(_ database: String) throws(HistoryError) {
        try self.checkContent(of: database)
        for path in [database, "\(database)-wal"] {
            let found = Content(path)?.identity
            guard let known = self.known[path] else {
                self.known[path] = found
                continue
            }
            guard known != found else { continue }
            throw HistoryError(
                "\(path) was \(found == nil ? "removed or renamed" : "replaced") while it was in use, so new "
                    + "changes would be lost; put it back, or restart the daemon to use the file that is there now"
            )
        }
    }
}

import Glibc

/// The database's files by what they are, and not by name.
///
/// What is written to a file that has been removed or renamed is on no disk that the next start
/// looks at, and SQLite does not notice.
struct OpenedFiles {
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t

        /// Nil if nothing has that name.
        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            self.device = status.st_dev
            self.inode = status.st_ino
        }
    }

    /// The database and its log; nil until they are first seen, which is when they are opened.
    private var known: [String: Identity] = [:]

    /// - Throws: `HistoryError` if a file is not the one any more that was opened.
    mutating func check(_ database: String) throws(HistoryError) {
        for path in [database, "\(database)-wal"] {
            let found = Identity(path)
            guard let known = self.known[path] else {
                self.known[path] = found
                continue
            }
            guard known != found else { continue }
            throw HistoryError(
                "\(path) was \(found == nil ? "removed or renamed" : "replaced") while it was in use, and what is "
                    + "written there now is lost; put it back, or restart the daemon to begin with what is there"
            )
        }
    }
}

import Glibc

/// The directory that a history lives in; one process at a time has it.
///
/// The lock is the kernel's and goes with the process, however that ends.
final class StateDirectory: Sendable {
    let path: String
    /// The numbering of the history that was here before; nil if there was none.
    let lastEpoch: String?
    private let lock: CInt

    var database: String { "\(self.path)/statemachine.sqlite" }

    /// Creates the directory, for its owner only, unless it is there, and takes the lock.
    init(_ path: String) throws(HistoryError) {
        self.path = path
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw HistoryError("cannot create the state directory \(path)", errno: errno)
        }
        let lockPath = "\(path)/statemachine.lock"
        let lock = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else {
            throw HistoryError("cannot open \(lockPath)", errno: errno)
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let owner = Self.owner(of: lock)
            close(lock)
            throw HistoryError(
                "\(lockPath) is locked by another daemon\(owner); "
                    + "end that one, or choose another --state-directory"
            )
        }
        self.lock = lock
        self.lastEpoch = Self.lines(of: lock).dropFirst().first
        self.write(epoch: self.lastEpoch)
    }

    deinit { close(self.lock) }

    /// Notes that there is a history here, for a start that finds none.
    func note(epoch: String) {
        if epoch != self.lastEpoch { self.write(epoch: epoch) }
    }

    /// A hint, which a full disk may refuse: the lock is what counts.
    private func write(epoch: String?) {
        let text = Array("\(getpid())\n\(epoch.map { "\($0)\n" } ?? "")".utf8)
        // Over what is there, and cut then: what a full disk has room for it does not lose.
        if pwrite(self.lock, text, text.count, 0) == text.count {
            ftruncate(self.lock, off_t(text.count))
        }
    }

    private static func owner(of lock: CInt) -> String {
        Self.lines(of: lock).first.map { " (pid \($0))" } ?? ""
    }

    private static func lines(of lock: CInt) -> [String] {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(lock, &buffer, buffer.count, 0)
        return buffer.prefix(max(0, count)).split(separator: UInt8(ascii: "\n"))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the database has lost its beginning: SQLite would throw away the rest on opening it.
    var hasDatabaseLostItsBeginning: Bool {
        Self.size(of: self.database) == 0 && Self.size(of: "\(self.database)-wal") > 0
    }

    /// 0 if there is none.
    private static func size(of file: String) -> off_t {
        var status = stat()
        return stat(file, &status) == 0 ? status.st_size : 0
    }

    /// Moves the database out of the way, with what belongs to it.
    ///
    /// - Returns: where it is now.
    func setDatabaseAside(at time: String) throws(HistoryError) -> String {
        let aside = "\(self.path)/statemachine-corrupt-\(time).sqlite"
        for suffix in ["", "-wal", "-shm"] {
            let (old, new) = (self.database + suffix, aside + suffix)
            guard rename(old, new) == 0 || errno == ENOENT else {
                throw HistoryError("\(old) is corrupt and cannot be set aside", errno: errno)
            }
        }
        return aside
    }
}

import Glibc

/// The directory that a history lives in; one process at a time has it.
///
/// The lock is the kernel's and goes with the process, however that ends.
final class StateDirectory: Sendable {
    /// How far a numbering was.
    struct Numbering: Hashable {
        let epoch: String
        /// The newest transition; 0 if that is not known.
        let seq: UInt64
    }

    let path: String
    /// Where the history that was here before was at least; nil if there was none.
    let last: Numbering?
    private let lock: CInt

    var database: String { "\(self.path)/statemachine.sqlite" }

    /// Creates the directory, for its owner only, unless it is there, and takes the lock; what others
    /// could open before, they cannot from here on.
    init(_ path: String) throws(HistoryError) {
        self.path = path
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw HistoryError("cannot create the state directory \(path)", errno: errno)
        }
        try PrivateFile.close(directory: path)
        let lockPath = "\(path)/statemachine.lock"
        try PrivateFile.close(lockPath)
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
        self.last = Self.numbering(in: lock)
        self.write(self.last)
    }

    deinit {
        // A child that is just being started has the descriptor too, until it runs something.
        flock(self.lock, LOCK_UN)
        close(self.lock)
    }

    /// Notes where the history here is, for a start that finds none, or an older one.
    ///
    /// - Parameter numbering: is on the disk already, so that only an older database ends before it.
    func note(_ numbering: Numbering) {
        self.write(numbering)
        // Were it lost in a crash of the machine, the database would seem to be another one.
        if numbering.epoch != self.last?.epoch { fdatasync(self.lock) }
    }

    /// A hint, which a full disk may refuse: the lock is what counts.
    private func write(_ numbering: Numbering?) {
        // Ten columns, as the lock files of old have it: what follows stays where it is, and no seq grows
        // by what is left of another if this is cut short.
        let pid = "\(getpid())"
        var text = Array(repeating: UInt8(ascii: " "), count: max(0, 10 - pid.utf8.count))
        text += Array("\(pid)\n".utf8)
        if let numbering { text += Array("\(numbering.epoch)\n\(numbering.seq)\n".utf8) }
        // Over what is there, and cut then: what a full disk has room for it does not lose.
        if pwrite(self.lock, text, text.count, 0) == text.count {
            ftruncate(self.lock, off_t(text.count))
        }
    }

    private static func owner(of lock: CInt) -> String {
        Self.lines(of: lock).first.map { " (pid \($0.drop { $0 == " " }))" } ?? ""
    }

    /// Without a seq it is one that an earlier version noted.
    private static func numbering(in lock: CInt) -> Numbering? {
        let lines = Self.lines(of: lock).dropFirst()
        return lines.first.map { epoch in
            Numbering(epoch: epoch, seq: lines.dropFirst().first.flatMap { UInt64($0) } ?? 0)
        }
    }

    /// The lines that are whole.
    private static func lines(of lock: CInt) -> [String] {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(lock, &buffer, buffer.count, 0)
        return buffer.prefix(max(0, count))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Makes the database's files such that only their owner can open them; the database itself, empty, if
    /// it is not there: SQLite gives the others the same mode.
    ///
    /// Whoever can open one of them can keep a lock on it, which has each commit fail.
    func closeFiles() throws(HistoryError) {
        for suffix in ["", "-wal", "-shm"] { try PrivateFile.close(self.database + suffix) }
        PrivateFile.create(self.database)
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

import Glibc
import Processes
import StateMachineCore
import StateMachineProtocol

/// The directory of a history; one process at a time has it.
///
/// The lock is the kernel's and goes with the process, however that ends.
final class StateDirectory: Sendable {
    let path: String
    /// How far the former history here had come at least, 0 if that is not known; nil if there was
    /// none.
    let last: Cursor?
    private let lock: LockFile

    var database: String { "\(self.path)/statemachine.sqlite" }

    /// Creates the directory, for its owner only, unless it exists, and takes the lock; closes to
    /// others what they could open before.
    init(_ path: String) throws(HistoryError) {
        self.path = path
        do throws(PrivateDirectory.Fault) {
            try PrivateDirectory.prepare(path, own: ["statemachine.lock", "statemachine.sqlite"])
        } catch {
            switch error {
            case .cannot(let what, let code): throw HistoryError("cannot \(what)", errno: code)
            case .unfit(let sentence): throw HistoryError(sentence)
            }
        }
        let lockPath = "\(path)/statemachine.lock"
        do throws(LockFile.Failure) {
            self.lock = try LockFile(at: lockPath, readingOnly: true)
        } catch {
            switch error {
            case .taken(let owner):
                throw HistoryError(
                    "\(lockPath) is locked by another daemon\(owner); "
                        + "stop that daemon, or choose another --state-directory"
                )
            case .obstructed: throw HistoryError(notPrivate: lockPath)
            case .system(let code): throw HistoryError("cannot lock \(lockPath)", errno: code)
            }
        }
        // Without a seq it was written by an earlier version.
        let lines = self.lock.lines
        self.last = lines.first.flatMap { Epoch($0) }.map { epoch in
            Cursor(epoch: epoch, seq: lines.dropFirst().first.flatMap { UInt64($0) } ?? 0)
        }
    }

    /// Records how far the history here has come, for a start that finds none, or an older one.
    ///
    /// - Parameter end: already on the disk, so that only an older database ends before it.
    func note(_ end: Cursor) {
        self.lock.write([end.epoch.description, "\(end.seq)"])
        // Were it lost in a crash of the machine, the database would seem to be another one.
        if end.epoch != self.last?.epoch { fdatasync(self.lock.descriptor) }
    }

    /// Closes the database's files to everybody but their owner, and creates the database, empty,
    /// if it does not exist: SQLite gives the other files its mode.
    ///
    /// Whoever can open one of them can hold a lock on it, and so make each commit fail.
    func closeFiles() throws(HistoryError) {
        for suffix in ["", "-wal", "-shm"] { try PrivateFile.close(self.database + suffix) }
        PrivateFile.create(self.database)
    }

    /// Whether its file system accepts no writes at all.
    var isReadOnly: Bool {
        var system = statvfs()
        return statvfs(self.path, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
    }

    /// Whether there are changes in the write-ahead log.
    var hasLog: Bool { Self.size(of: "\(self.database)-wal") > 0 }

    /// Whether the database file is empty or missing but its log is not: SQLite would discard the
    /// log on opening.
    var hasDatabaseLostItsBeginning: Bool {
        Self.size(of: self.database) == 0 && self.hasLog
    }

    /// 0 if it does not exist.
    private static func size(of file: String) -> off_t {
        var status = stat()
        return stat(file, &status) == 0 ? status.st_size : 0
    }

    /// What is wrong with a database that is moved out of the way, as its new name has it.
    enum Flaw: String {
        case corrupt
        /// It is no longer of this machine, or of its present numbering.
        case former
    }

    /// A database that was moved out of the way, and where it is now.
    struct Aside {
        let flaw: Flaw
        let file: String
    }

    /// Moves the database out of the way, with its other files.
    func setDatabaseAside(as flaw: Flaw) throws(HistoryError) -> Aside {
        // As in `20261121T120000.000000Z`.
        let time = WallTime.now.rfc3339.filter { $0 != "-" && $0 != ":" }
        let aside = "\(self.path)/statemachine-\(flaw.rawValue)-\(time).sqlite"
        for suffix in ["", "-wal", "-shm"] {
            let (old, new) = (self.database + suffix, aside + suffix)
            guard rename(old, new) == 0 || errno == ENOENT else {
                let why =
                    flaw == .corrupt
                    ? "is corrupt and cannot be renamed"
                    : "is no longer this machine's past and cannot be renamed"
                throw HistoryError("\(old) \(why)", errno: errno)
            }
        }
        return Aside(flaw: flaw, file: aside)
    }
}

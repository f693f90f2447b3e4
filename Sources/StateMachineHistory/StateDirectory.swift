import Glibc

/// The directory that a history lives in; one process at a time has it.
///
/// The lock is the kernel's and goes with the process, however that ends.
final class StateDirectory: Sendable {
    let path: String
    private let lock: CInt

    var database: String { "\(self.path)/statemachine.sqlite" }

    /// Creates the directory, for its owner only, unless it is there, and takes the lock.
    init(_ path: String) throws(HistoryError) {
        self.path = path
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw HistoryError("cannot create the state directory \(path): \(Self.reason)")
        }
        let lockPath = "\(path)/statemachine.lock"
        let lock = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else {
            throw HistoryError("cannot open \(lockPath): \(Self.reason)")
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
        // For people only; the lock is what counts.
        let pid = Array("\(getpid())\n".utf8)
        if ftruncate(lock, 0) == 0 { _ = pwrite(lock, pid, pid.count, 0) }
    }

    deinit { close(self.lock) }

    private static func owner(of lock: CInt) -> String {
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = pread(lock, &buffer, buffer.count, 0)
        let digits = buffer.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
        return digits.isEmpty ? "" : " (pid \(String(decoding: digits, as: UTF8.self)))"
    }

    /// Moves the database out of the way, with what belongs to it.
    ///
    /// - Returns: where it is now.
    func setDatabaseAside(at time: String) throws(HistoryError) -> String {
        let aside = "\(self.path)/statemachine-corrupt-\(time).sqlite"
        for suffix in ["", "-wal", "-shm"] {
            let (old, new) = (self.database + suffix, aside + suffix)
            guard rename(old, new) == 0 || (errno == ENOENT && !suffix.isEmpty) else {
                throw HistoryError("\(old) is corrupt and cannot be set aside: \(Self.reason)")
            }
        }
        return aside
    }

    private static var reason: String { String(cString: strerror(errno)) }
}

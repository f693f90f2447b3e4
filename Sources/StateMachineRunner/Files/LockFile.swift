import Glibc
import SystemPackage

/// A file that one process at a time has locked (`flock`), as long as this value lives.
///
/// How that process ends does not matter. A child has it only until it runs its own program.
final class LockFile: Sendable {
    enum Failure: Error, Hashable {
        /// Another process has it; its number is known if it could write it there.
        case taken(by: pid_t?)
        /// The file there is not a regular one of this user's, or has a second link elsewhere.
        case obstructed
        case system(Errno)
    }

    private let path: String
    private let descriptor: CInt

    /// The path of the lock in a directory.
    static func path(in directory: String) -> String { "\(directory)/runner.lock" }

    /// Creates the file in that directory, which may belong to somebody else, and locks it.
    init(in directory: String) throws(Failure) {
        self.path = Self.path(in: directory)
        self.descriptor = try Self.taken(self.path)
        let pid = Array("\(getpid())\n".utf8)
        // A hint for people; a full disk may refuse it.
        if ftruncate(self.descriptor, 0) == 0 { pwrite(self.descriptor, pid, pid.count, 0) }
    }

    deinit { close(self.descriptor) }

    /// Whether others would find it locked: its directory may have been removed and made again.
    var isInPlace: Bool {
        var own = stat()
        var there = stat()
        return fstat(self.descriptor, &own) == 0 && lstat(self.path, &there) == 0
            && own.st_ino == there.st_ino && own.st_dev == there.st_dev
    }

    private static func taken(_ path: String) throws(Failure) -> CInt {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = open(path, flags, 0o600)
        var status = stat()
        guard descriptor >= 0 else {
            let error = Errno(rawValue: errno)
            // Somebody else's, which may not even be opened.
            guard lstat(path, &status) != 0 || status.st_uid == geteuid() else { throw .obstructed }
            throw .system(error)
        }
        do throws(Failure) {
            guard fstat(descriptor, &status) == 0 else { throw .system(Errno(rawValue: errno)) }
            // It is written to, so it must not be a file that somebody has put there.
            guard status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG,
                status.st_nlink == 1
            else { throw .obstructed }
            try self.lock(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// How often a lock is tried again whose owner is gone, each time after 10 ms.
    ///
    /// 10 s: a child that was being started when its runner was killed runs its own program sooner, however busy the
    /// machine is.
    private static let retries = 1000

    private static func lock(_ descriptor: CInt) throws(Failure) {
        for retry in 0... {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            guard errno == EWOULDBLOCK else { throw .system(Errno(rawValue: errno)) }
            let owner = self.owner(of: descriptor)
            let isGone = owner.map { kill($0, 0) != 0 && errno == ESRCH } ?? false
            guard isGone, retry < self.retries else { throw .taken(by: owner) }
            usleep(10_000)
        }
    }

    private static func owner(of descriptor: CInt) -> pid_t? {
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return text.split(separator: "\n").first.flatMap { pid_t($0) }
    }
}

extension RunnerError {
    /// For a lock that cannot be had; `taken` says what another runner does with it, and a remedy.
    init(_ failure: LockFile.Failure, at path: String, taken: String) {
        switch failure {
        case .taken(let pid):
            let owner = pid.map { " (pid \($0))" } ?? ""
            self.init("another statemachine-runner\(owner) \(taken)")
        case .obstructed:
            self.init(
                "\(path) is in the way: it is not a lock file of this user; remove it",
                exitStatus: EX_CONFIG
            )
        case .system(let error): self.init(cannot: "lock \(path)", error)
        }
    }
}

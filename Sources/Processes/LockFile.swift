import Glibc

/// A file that one process at a time has locked (`flock`), for as long as this value lives.
///
/// How that process ends does not matter. A child has the lock only until it runs its own program. Nobody else can
/// open the file: whoever can open it could hold the lock.
package final class LockFile: Sendable {
    package enum Failure: Error, Hashable {
        /// Another process has it: ` (pid 4711)`, or nothing if it could not write its number there.
        case taken(by: String)
        /// The file there is not a regular one of this user's, or has a second link elsewhere.
        case obstructed
        case system(errno: CInt)
    }

    package let path: String
    package let descriptor: CInt

    /// Creates the file if it is missing, locks it, and writes this process's number over the last owner's.
    ///
    /// - Parameters:
    ///   - path: of the file, whose directory may belong to somebody else.
    ///   - readingOnly: on a file system that accepts no writes the file is locked as it is, or the directory where
    ///     there is none.
    /// - Throws: why it cannot be had.
    package init(at path: String, readingOnly: Bool = false) throws(Failure) {
        self.path = path
        self.descriptor = try Self.taken(path, readingOnly)
        self.write(self.lines)
    }

    deinit {
        // A child that is just starting has the descriptor, too.
        flock(self.descriptor, LOCK_UN)
        close(self.descriptor)
    }

    /// Whether others would find it locked: its directory may have been removed and made again.
    package var isInPlace: Bool {
        var (own, there) = (stat(), stat())
        return fstat(self.descriptor, &own) == 0 && lstat(self.path, &there) == 0
            && own.st_ino == there.st_ino && own.st_dev == there.st_dev
    }

    /// Removes the file, which stays locked: whoever has opened it meanwhile finds that it no longer has a name.
    package func remove() {
        // If the directory was made anew meanwhile, the file of that name is another process's.
        if self.isInPlace { unlink(self.path) }
    }

    // MARK: - Taking it

    /// How often a lock is tried again, each time after 10 ms, whose owner is gone, and one whose owner is there.
    ///
    /// 10 s: a child that was being started when its parent was killed runs its own program sooner, however busy the
    /// machine is. 1 s: an owner that was killed is there until the kernel has taken its memory and files apart. Picked.
    private static let retries = (ofGone: 1000, ofPresent: 100)

    private static func taken(_ path: String, _ readingOnly: Bool) throws(Failure) -> CInt {
        while true {
            let descriptor = try self.opened(path, readingOnly)
            do throws(Failure) {
                try self.lock(descriptor)
                // Its last owner may have removed it.
                var status = stat()
                if fstat(descriptor, &status) != 0 || status.st_nlink > 0 { return descriptor }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
    }

    private static func opened(_ path: String, _ readingOnly: Bool) throws(Failure) -> CInt {
        let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        var descriptor = open(path, O_RDWR | O_CREAT | flags, 0o600)
        let isForReading = readingOnly && descriptor < 0 && errno == EROFS
        if isForReading {
            descriptor = open(path, O_RDONLY | flags)
            if descriptor < 0, errno == ENOENT { return try self.openedDirectory(of: path) }
        }
        var status = stat()
        guard descriptor >= 0 else {
            let code = errno
            // Somebody else's, which may not even be opened; or a link, or a directory.
            guard lstat(path, &status) != 0 || self.isOwn(status) else { throw .obstructed }
            throw .system(errno: code)
        }
        // It is written to, so it must not be a file that somebody has put there. Whoever has it open already could
        // still hold it; nobody else can open it from here on.
        guard fstat(descriptor, &status) == 0, self.isOwn(status), status.st_nlink < 2,
            status.st_mode & 0o077 == 0 || isForReading || fchmod(descriptor, 0o600) == 0
        else {
            close(descriptor)
            throw .obstructed
        }
        return descriptor
    }

    private static func openedDirectory(of path: String) throws(Failure) -> CInt {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno: errno) }
        return descriptor
    }

    private static func isOwn(_ status: stat) -> Bool {
        status.st_uid == geteuid() && status.st_mode & S_IFMT == S_IFREG
    }

    private static func lock(_ descriptor: CInt) throws(Failure) {
        for retry in 0... {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            guard errno == EWOULDBLOCK else { throw .system(errno: errno) }
            let owner = self.lines(of: descriptor).first.flatMap {
                pid_t($0.drop { $0 == " " })
            }
            let isGone = owner.map { kill($0, 0) != 0 && errno == ESRCH } ?? false
            guard retry < (isGone ? self.retries.ofGone : self.retries.ofPresent) else {
                throw .taken(by: owner.map { " (pid \($0))" } ?? "")
            }
            usleep(10_000)
        }
    }

    // MARK: - What it says

    /// The lines of its last owner, or of this one, after the number of the process.
    package var lines: [String] { Array(Self.lines(of: self.descriptor).dropFirst()) }

    /// Writes the number of this process, for people, and these lines; a hint, which may fail on a full disk.
    package func write(_ lines: [String]) {
        // Ten columns, as in traditional lock files: what follows keeps its position, and a truncated write cannot
        // add digits of an old number to a new one.
        let pid = "\(getpid())"
        let padding = String(repeating: " ", count: max(0, 10 - pid.utf8.count))
        let text = Array(([padding + pid] + lines).map { $0 + "\n" }.joined().utf8)
        // Overwrites, then truncates: so a full disk does not lose what fits.
        if pwrite(self.descriptor, text, text.count, 0) == text.count {
            ftruncate(self.descriptor, off_t(text.count))
        }
    }

    /// The complete lines.
    private static func lines(of descriptor: CInt) -> [String] {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        return buffer.prefix(max(0, count))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

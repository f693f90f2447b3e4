internal import CPlatform
internal import Glibc
private import SystemPackage

/// What each program sees to before it opens anything.
package enum ProcessStart {
    /// Descriptors that a program needs beside those it began with: loops, timers, signals, sockets, a file or two.
    ///
    /// 24: the daemon at rest has 17 of them, the runner 16. Without them, Dispatch and NIO end the process by SIGILL.
    private static let needed = 24

    /// Makes the descriptors 0, 1 and 2 safe to use; ends the process with that status, and a sentence, if there is no
    /// room for those that it needs.
    ///
    /// - Parameters:
    ///   - name: the program's.
    ///   - status: 78 unless something else is said, as the same would happen at each start.
    ///   - refuse: called with the sentence before the process ends; has a few descriptors, and neither Dispatch nor NIO.
    package static func prepare(
        _ name: String,
        orExit status: CInt = EX_CONFIG,
        refuse: (String) -> Void = { _ in }
    ) {
        // A closed one would be the next file that is opened, and the log would be written into it.
        for descriptor in STDIN_FILENO...STDERR_FILENO
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // Opens the lowest number that is free, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
        _ = self.given
        // Without a reader, writing fails, instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        guard let why = self.shortage(of: self.needed) else { return }
        let line = Array("\(name): \(why)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        refuse(why)
        exit(status)
    }

    /// Has no program that is started inherit what this one was given beside the standard descriptors.
    package static func keepDescriptors() { platform_keep_descriptors(STDERR_FILENO + 1) }

    /// What was open when the process began, or when this was first asked: whatever it starts gets that too.
    private static let given = Set(ProcessStart.openDescriptors)

    /// Has no program that is started inherit what this one has opened since it began, its loops' descriptors among it,
    /// which NIO leaves to be inherited.
    static func keepOwnDescriptors() {
        for descriptor in self.openDescriptors where !self.given.contains(descriptor) {
            let flags = fcntl(descriptor, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0 {
                _ = fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC)
            }
        }
    }

    /// Those that are open; the one by which they are listed is closed again.
    private static var openDescriptors: [CInt] {
        FilePath("/proc/self/fd").names.compactMap { CInt($0) }.filter { fcntl($0, F_GETFD) >= 0 }
    }

    /// Why there is no room for that many more descriptors; nil if there is, if need be after the soft limit is raised.
    private static func shortage(of count: Int) -> String? {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard self.room(for: count) < count, getrlimit(resource, &limit) == 0 else { return nil }
        limit.rlim_cur = limit.rlim_max
        // Refused only if the limit is raised beyond the hard one, which this is not.
        setrlimit(resource, &limit)
        let room = self.room(for: count)
        guard room < count else { return nil }
        return
            "the limit of \(limit.rlim_max) open files leaves room for \(room), but \(count) are needed; raise it "
            + "(LimitNOFILE= in the unit, or ulimit -n)"
    }

    /// How many more descriptors there are, at most that many.
    private static func room(for count: Int) -> Int {
        var descriptors: [CInt] = []
        while descriptors.count < count {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else { break }
            descriptors.append(descriptor)
        }
        for descriptor in descriptors { close(descriptor) }
        return descriptors.count
    }
}

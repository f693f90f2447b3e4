import Glibc

/// The descriptors 0, 1 and 2, as whoever started the process left them.
enum StandardDescriptors {
    /// Makes them safe to use: to be called before anything is opened.
    static func prepare() {
        // A closed one would be the next file that is opened, and the log would be written into it.
        for descriptor in STDIN_FILENO...STDERR_FILENO
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // Opens the lowest number that is free, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
        // Without a reader, writing the log fails, instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
    }
}

import Glibc

/// What the kernel lets the process have.
enum ResourceLimits {
    /// Descriptors that clients do not get.
    ///
    /// 16: the daemon itself briefly needs a few, to tell the service manager its state, to reopen
    /// a database, to read about its own threads. Not tuned.
    private static let reserve: CInt = 16

    /// Whether no more than the reserve is left.
    static var areDescriptorsScarce: Bool { Self.left <= 0 }

    /// How many clients there are descriptors for, besides those that the process has open and the
    /// reserve; at least one.
    static var clients: Int { max(1, Self.left) }

    /// The descriptors that are left, without the reserve.
    private static var left: Int {
        guard let limit = Self.descriptors else { return .max }
        // The kernel gives out the lowest free number.
        let lowest = dup(STDERR_FILENO)
        guard lowest >= 0 else { return errno == EMFILE || errno == ENFILE ? 0 : .max }
        close(lowest)
        return Int(clamping: limit.rlim_cur) - Int(lowest + Self.reserve)
    }

    /// Allows as many descriptors as the administrator does.
    ///
    /// The soft limit is 1024 by tradition, for programs that use select(2); this one does not.
    static func raiseDescriptors() {
        guard var limit = Self.descriptors else { return }
        limit.rlim_cur = limit.rlim_max
        // Refused only if the limit is raised beyond the hard one, which this is not.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private static var descriptors: rlimit? {
        var limit = rlimit()
        let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        return isKnown ? limit : nil
    }
}

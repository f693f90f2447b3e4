import Glibc

/// What the kernel lets the process have.
enum ResourceLimits {
    /// Allows as many descriptors as the administrator does.
    ///
    /// The soft limit is 1024 by tradition, for programs that use select(2); this one does not.
    static func raiseDescriptors() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // Refused only if the limit is raised beyond the hard one, which this is not.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

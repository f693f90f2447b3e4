import CPlatform

/// Identifies a thread.
struct ThreadIdentity: Sendable {
    private let thread: UInt

    /// That of the calling thread.
    static var current: ThreadIdentity {
        ThreadIdentity(thread: platform_thread())
    }

    /// Whether it is the calling thread's.
    var isCurrent: Bool { self.thread == platform_thread() }
}

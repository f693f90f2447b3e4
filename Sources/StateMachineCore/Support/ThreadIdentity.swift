import Glibc

/// Which thread something is done on.
@usableFromInline
struct ThreadIdentity: Sendable {
    private let thread: pthread_t

    /// That of the calling thread.
    @usableFromInline static var current: ThreadIdentity { ThreadIdentity(thread: pthread_self()) }

    /// Whether it is the calling thread's.
    var isCurrent: Bool { pthread_equal(self.thread, pthread_self()) != 0 }
}

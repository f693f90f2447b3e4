import CPlatform

/// Where a thread weakly remembers its context; freed with the thread.
///
/// Kept with the thread and not in a table, since the kernel reuses a thread's identity for another
/// one later.
final class ThreadLocalContext {
    private weak var context: NotificationThread?

    private init() {}

    /// The key under which every thread finds its own; nil if the process has no key left, and
    /// then no thread remembers anything.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key) { local in
            // Not declared as optional on every platform.
            guard let local = local as UnsafeMutableRawPointer? else { return }
            Unmanaged<ThreadLocalContext>.fromOpaque(local).release()
        }
        return error == 0 ? key : nil
    }()

    private static var own: ThreadLocalContext? {
        guard let key, let local = pthread_getspecific(key) else { return nil }
        return Unmanaged<ThreadLocalContext>.fromOpaque(local).takeUnretainedValue()
    }

    /// The calling thread's context, if it has one.
    static var taken: NotificationThread? { self.own?.context }

    /// Makes `context` the calling thread's.
    static func take(_ context: NotificationThread) {
        if let own {
            own.context = context
            return
        }
        guard let key else { return }
        let local = ThreadLocalContext()
        local.context = context
        let kept = Unmanaged.passRetained(local)
        if pthread_setspecific(key, kept.toOpaque()) != 0 { kept.release() }
    }
}

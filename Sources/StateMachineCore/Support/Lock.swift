public import CPlatform

/// A value that one thread at a time may touch.
///
/// Everything in this package that needs a lock uses this one, so that the implementation can be
/// exchanged in one place. Never call a client's code from inside ``withLock(_:)``: a lock taken
/// twice by one thread hangs.
///
/// A `pthread_mutex_t`, adaptive where available, and not the standard `Mutex`: on Linux that is a
/// priority-inheriting futex, where every contended turn is two system calls, and ThreadSanitizer
/// does not know it and reports races in correct programs.
///
/// `@unchecked Sendable`: `value` is only touched between locking and unlocking `mutex`.
@usableFromInline
package struct Lock<Value: Sendable>: ~Copyable, @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ value: consuming Value) {
        self.mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, platform_mutex_kind())
        let error = pthread_mutex_init(self.mutex, &attributes)
        precondition(error == 0, "pthread_mutex_init failed: error \(error)")
        pthread_mutexattr_destroy(&attributes)
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        self.value.deinitialize(count: 1)
        self.value.deallocate()
        pthread_mutex_destroy(self.mutex)
        self.mutex.deallocate()
    }

    @inlinable
    package borrowing func withLock<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(self.mutex)
        defer { pthread_mutex_unlock(self.mutex) }
        return try body(&self.value.pointee)
    }
}

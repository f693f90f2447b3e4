import Synchronization

/// A value that one thread at a time may touch.
///
/// Everything in this module that needs a lock takes this one, so that the implementation can be
/// exchanged in one place. Never call a client's code from inside ``withLock(_:)``: a lock taken
/// twice by one thread ends the process.
struct Lock<Value>: ~Copyable {
    private let mutex: Mutex<Value>

    init(_ value: consuming sending Value) {
        self.mutex = Mutex(value)
    }

    borrowing func withLock<Result, Failure>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try self.mutex.withLock(body)
    }
}

extension Lock: Sendable where Value: Sendable {}

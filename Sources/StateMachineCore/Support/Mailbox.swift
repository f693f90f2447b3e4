import Dispatch

/// One value, put by one thread and waited for by another.
final class Mailbox<Value: Sendable>: Sendable {
    private let value = Lock<Value?>(nil)
    private let hasArrived = DispatchSemaphore(value: 0)

    func put(_ value: Value) {
        self.value.withLock { $0 = value }
        self.hasArrived.signal()
    }

    func wait() -> Value {
        while true {
            if let value = self.value.withLock({ $0 }) { return value }
            self.hasArrived.wait()
        }
    }
}

import StateMachineCore

/// Wakes the one task that iterates over its rings; those that come while it is busy count as one.
package struct Doorbell: Sendable {
    /// The rings, to be iterated over once.
    package let rings: AsyncStream<Void>
    private let button: AsyncStream<Void>.Continuation

    package init() {
        (self.rings, self.button) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func ring() { self.button.yield() }

    /// Ends the rings; one that has not been heard yet still is.
    package func finish() { self.button.finish() }
}

/// Whether something is so, for several tasks.
///
/// Guarded state: `value`, behind its lock.
package final class SharedFlag: Sendable {
    private let value = Lock(false)

    package init() {}

    package var isSet: Bool { self.value.withLock { $0 } }

    package func set(_ isSet: Bool) { self.value.withLock { $0 = isSet } }

    /// Clears it, and returns whether it was set.
    package func take() -> Bool { self.value.withLock { exchange(&$0, with: false) } }
}

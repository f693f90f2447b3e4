import Dispatch

/// Holds a thread up until it is opened; opening it first is as good.
public final class Gate: Sendable {
    private let opened = DispatchSemaphore(value: 0)

    /// Closed.
    public init() {}

    /// Lets through whoever waits, now and later.
    public func open() { self.opened.signal() }

    /// Blocks the calling thread until the gate is open.
    public func pass() {
        self.opened.wait()
        self.opened.signal()
    }
}

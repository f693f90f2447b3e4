import Dispatch

/// Holds up a thread until it is opened; it may be opened first.
public final class Gate: Sendable {
    private let opened = DispatchSemaphore(value: 0)

    /// Closed.
    public init() {}

    /// Lets everybody through, now and later.
    public func open() { self.opened.signal() }

    /// Blocks the calling thread until the gate is open.
    public func pass() {
        self.opened.wait()
        self.opened.signal()
    }
}

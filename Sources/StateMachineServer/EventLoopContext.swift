public import NIOCore
public import StateMachineCore

/// An event loop as a place where delegates and receptionists run.
public final class EventLoopContext: ExecutionContext {
    private let loop: any EventLoop

    /// The context that is that loop.
    public init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `job` in a later turn of the loop.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { self.loop.execute(job) }

    /// The loop itself.
    public var identity: ObjectIdentifier { ObjectIdentifier(self.loop) }

    /// Whether the calling code runs on the loop's thread.
    public var isCurrent: Bool? { self.loop.inEventLoop }
}

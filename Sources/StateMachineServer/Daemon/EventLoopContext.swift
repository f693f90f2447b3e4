public import NIOCore
public import StateMachineCore

/// An event loop as a place where delegates and receptionists run: one that the program has for
/// itself, since nobody is given the daemon's own.
///
/// It has to live until the machine is set no more, or until what was registered on it is cancelled: a
/// loop that has ended runs nothing, and ``StateMachine/flush()`` waits for it for ever.
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

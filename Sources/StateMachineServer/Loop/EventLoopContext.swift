public import NIOCore
public import StateMachineCore

/// An event loop as an execution context for delegates and receptionists: the daemon's own, or a program's.
///
/// The daemon does not give out its own. A program's one has to live until the machine is no longer
/// set, or until what was registered on it is cancelled: a loop that has ended runs nothing, and
/// ``StateMachine/flush()`` waits for it for ever.
public final class EventLoopContext: ExecutionContext {
    private let loop: any EventLoop

    /// A context that runs its jobs on that loop.
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

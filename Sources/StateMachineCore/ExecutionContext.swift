public import Dispatch

/// Where a delegate or a receptionist's task runs.
///
/// A context need not be serial: a lane runs one drain at a time on it, so even a concurrent queue
/// delivers in order.
public protocol ExecutionContext: AnyObject, Sendable {
    /// Runs `job` later on this context, in order of enqueueing if the context has one.
    ///
    /// Never inline, ``ImmediateContext`` excepted, and never blocks the caller.
    func enqueue(_ job: @escaping @Sendable () -> Void)

    /// What makes two contexts the same place; registrations with equal identities share a lane.
    var identity: ObjectIdentifier { get }

    /// Whether the calling code runs on this context; nil if it cannot tell.
    var isCurrent: Bool? { get }
}

extension ExecutionContext {
    /// The object itself.
    public var identity: ObjectIdentifier { ObjectIdentifier(self) }

    /// It cannot tell.
    public var isCurrent: Bool? { nil }
}

/// The thread that set the state, after the machine's lock has been released.
public final class ImmediateContext: ExecutionContext {
    /// The one instance that all machines share.
    fileprivate static let shared = ImmediateContext()

    private init() {}

    /// Runs `job` before it returns.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { job() }
}

/// A dispatch queue, serial or concurrent.
public final class DispatchQueueContext: ExecutionContext {
    private let queue: DispatchQueue

    fileprivate init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    /// Hands `job` to the queue.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { self.queue.async(execute: job) }

    /// The queue's identity: two contexts of one queue are the same place.
    public var identity: ObjectIdentifier { ObjectIdentifier(self.queue) }
}

extension ExecutionContext where Self == ImmediateContext {
    /// The thread that set the state, before the assignment returns.
    public static var immediate: ImmediateContext { .shared }
}

extension ExecutionContext where Self == DispatchQueueContext {
    /// A dispatch queue.
    public static func queue(_ queue: DispatchQueue) -> DispatchQueueContext {
        DispatchQueueContext(queue)
    }
}

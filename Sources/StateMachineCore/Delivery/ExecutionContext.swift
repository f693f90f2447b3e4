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

    /// Nil: it cannot tell.
    public var isCurrent: Bool? { nil }
}

/// A context that comes to an end, after which it accepts nothing more.
protocol RefusingContext: ExecutionContext {
    /// As ``ExecutionContext/enqueue(_:)``; false if the context has ended, and then `job` never runs.
    func accepts(_ job: @escaping @Sendable () -> Void) -> Bool
}

extension ExecutionContext {
    /// As ``enqueue(_:)``; false if the context has come to an end, and then `job` never runs.
    func takes(_ job: @escaping @Sendable () -> Void) -> Bool {
        if let refusing = self as? any RefusingContext { return refusing.accepts(job) }
        self.enqueue(job)
        return true
    }
}

/// A context that runs a job before `enqueue` returns.
protocol InlineRunning: ExecutionContext {}

/// The thread that set the state, after the machine's lock has been released.
public final class ImmediateContext: ExecutionContext, InlineRunning {
    /// The one instance that all machines share.
    fileprivate static let shared = ImmediateContext()

    private init() {}

    /// Runs `job` before it returns.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { job() }
}

extension ExecutionContext where Self == ImmediateContext {
    /// The thread that set the state, before the assignment returns.
    public static var immediate: ImmediateContext { .shared }
}

public import Dispatch

/// A dispatch queue, serial or concurrent.
extension DispatchQueue: ExecutionContext {
    /// What a queue is marked with, so that code can tell that it runs there.
    private static let mark = DispatchSpecificKey<ObjectIdentifier>()

    /// Hands `job` to the queue.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { self.async(execute: job) }

    /// The queue's; it is marked as a context from then on.
    public var identity: ObjectIdentifier {
        let identity = ObjectIdentifier(self)
        if self.getSpecific(key: Self.mark) != identity {
            self.setSpecific(key: Self.mark, value: identity)
        }
        return identity
    }

    /// Whether the calling code runs on this queue, or on one that targets it and is no context itself.
    ///
    /// A queue that has never been a context cannot tell.
    public var isCurrent: Bool? {
        DispatchQueue.getSpecific(key: Self.mark) == ObjectIdentifier(self)
    }
}

extension ExecutionContext where Self == DispatchQueue {
    /// A dispatch queue, which is marked as a context.
    public static func queue(_ queue: DispatchQueue) -> DispatchQueue {
        _ = queue.identity
        return queue
    }
}

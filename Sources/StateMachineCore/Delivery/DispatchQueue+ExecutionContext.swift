public import Dispatch

/// A dispatch queue, serial or concurrent.
extension DispatchQueue: ExecutionContext {
    /// What identifies a queue: the Swift object that stands for it may differ each time, as that
    /// of `.main` does.
    private final class Mark: Sendable {}

    private static let key = DispatchSpecificKey<Mark>()
    private static let marking = Lock(())

    /// Hands `job` to the queue.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { self.async(execute: job) }

    /// The identity of the queue's mark, set when it first becomes a context; of the object if the
    /// queue takes no mark.
    public var identity: ObjectIdentifier {
        Self.marking.withLock { _ in
            if let mark = self.getSpecific(key: Self.key) { return ObjectIdentifier(mark) }
            self.setSpecific(key: Self.key, value: Mark())
            return self.getSpecific(key: Self.key).map { ObjectIdentifier($0) }
                ?? ObjectIdentifier(self)
        }
    }

    /// Whether the calling code runs on this queue, or on one that targets it and is no context
    /// itself; nil if this queue has never been a context.
    public var isCurrent: Bool? {
        guard let mark = self.getSpecific(key: Self.key) else { return nil }
        return DispatchQueue.getSpecific(key: Self.key) === mark
    }
}

extension ExecutionContext where Self == DispatchQueue {
    /// A dispatch queue, which is marked as a context.
    public static func queue(_ queue: DispatchQueue) -> DispatchQueue {
        _ = queue.identity
        return queue
    }
}

public import Dispatch

/// A dispatch queue, serial or concurrent.
extension DispatchQueue: ExecutionContext {
    /// What a queue is known by: the object that stands for it in Swift may be another one each time, as that of `.main` is.
    private final class Mark: Sendable {}

    private static let key = DispatchSpecificKey<Mark>()
    private static let marking = Lock(())

    /// Hands `job` to the queue.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { self.async(execute: job) }

    /// That of the queue's mark, which it has as a context from then on; of the object if it takes none.
    public var identity: ObjectIdentifier {
        Self.marking.withLock { _ in
            if let mark = self.getSpecific(key: Self.key) { return ObjectIdentifier(mark) }
            self.setSpecific(key: Self.key, value: Mark())
            return self.getSpecific(key: Self.key).map { ObjectIdentifier($0) }
                ?? ObjectIdentifier(self)
        }
    }

    /// Whether the calling code runs on this queue, or on one that targets it and is no context itself; nil of a queue that
    /// has never been a context.
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

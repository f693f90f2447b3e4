import Synchronization

/// A clock on which every sleep returns at once, with its time passed.
package final class InstantClock: Clock {
    package struct Instant: InstantProtocol {
        package let offset: Duration

        package init(offset: Duration) { self.offset = offset }

        package func advanced(by duration: Duration) -> Instant {
            Instant(offset: self.offset + duration)
        }
        package func duration(to other: Instant) -> Duration { other.offset - self.offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let offset = Mutex(Duration.zero)

    package init() {}

    package var now: Instant { Instant(offset: self.offset.withLock { $0 }) }
    package var minimumResolution: Duration { .nanoseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        self.offset.withLock { $0 = max($0, deadline.offset) }
    }
}

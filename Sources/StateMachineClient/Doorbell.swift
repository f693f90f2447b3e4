/// Wakes the one task that iterates over its rings; those that come while it is busy count as one.
package struct Doorbell: Sendable {
    /// The rings, to be iterated over once.
    package let rings: AsyncStream<Void>
    private let button: AsyncStream<Void>.Continuation

    package init() {
        (self.rings, self.button) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func ring() { self.button.yield() }

    /// Ends the rings; one that has not been heard yet still is.
    package func finish() { self.button.finish() }
}

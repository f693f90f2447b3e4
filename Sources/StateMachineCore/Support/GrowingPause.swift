/// How long to wait before retrying something that failed: 1 s, doubled each time, up to 60 s.
package struct GrowingPause: Hashable, Sendable {
    private static let longest = Duration.seconds(60)

    private var step = Duration.seconds(1)

    package init() {}

    /// The next pause.
    package mutating func next() -> Duration {
        defer { self.step = min(self.step * 2, Self.longest) }
        return self.step
    }

    /// Starts again, since it has succeeded or something else has changed.
    package mutating func reset() { self = GrowingPause() }
}

/// How long to wait before something that failed for no fault of the command's is tried again: 1 s, and
/// twice as long each time, up to 60 s.
struct GrowingPause: Hashable, Sendable {
    private static let longest = Duration.seconds(60)

    private var step = Duration.seconds(1)

    /// The next pause.
    mutating func next() -> Duration {
        defer { self.step = min(self.step * 2, Self.longest) }
        return self.step
    }

    /// It has succeeded.
    mutating func reset() { self = GrowingPause() }
}

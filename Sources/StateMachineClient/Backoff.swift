/// How long to wait before the next attempt to connect: longer each time, and never the same for
/// two clients, so that a daemon that comes back does not meet all of them at once.
struct Backoff: Sendable {
    /// 100 ms: a restart takes about as long.
    private static let first = Duration.milliseconds(100)
    /// 5 s: a daemon that is back is noticed soon, and one attempt costs nothing.
    private static let longest = Duration.seconds(5)

    private(set) var attempts = 0

    /// The next pause: between a half of the step and the whole of it, or longer if the daemon asked
    /// for that.
    mutating func next(
        asked: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let step = min(Self.longest, Self.first * (1 << min(self.attempts, 6)))
        self.attempts += 1
        let jitter = Double.random(in: 0.5...1, using: &generator)
        // A daemon that asks for more than the longest pause is not believed.
        return max(step * jitter, min(asked ?? .zero, Self.longest) * (1.5 - jitter / 2))
    }

    /// Starts over with the shortest pause, as a connection works again.
    mutating func reset() { self.attempts = 0 }
}

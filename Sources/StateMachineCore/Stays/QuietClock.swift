/// The continuous clock, with sleepers that cause no wake-up before their time.
///
/// For a task that sleeps in the usual way, Dispatch checks its threads every second until the
/// process ends.
package struct QuietClock: Clock {
    package typealias Instant = ContinuousClock.Instant

    package init() {}

    package var now: Instant { ContinuousClock.now }

    package var minimumResolution: Duration { ContinuousClock().minimumResolution }

    /// Sleeps until then; time in which the machine sleeps counts.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        #if os(Linux)
        let (ringing, bell) = AsyncStream.makeStream(of: Void.self)
        guard let timer = KernelClock().timer({ bell.finish() }) else {
            // No descriptor is left; wake-ups do not matter then.
            return try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
        }
        timer.set(after: max(.zero, self.now.duration(to: deadline)))
        defer { timer.stop() }
        // Ended by the timer, or because the task is cancelled.
        for await _ in ringing {}
        try Task.checkCancellation()
        #else
        try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
        #endif
    }

    /// Sleeps that long; false if the task is cancelled.
    package func hasSlept(_ duration: Duration) async -> Bool {
        do {
            try await self.sleep(for: duration)
            return true
        } catch {
            return false
        }
    }
}

extension Clock<Duration> {
    /// The same clock to sleep by, without wake-ups before the time where it is the usual one.
    package var quiet: any Clock<Duration> { self is ContinuousClock ? QuietClock() : self }
}

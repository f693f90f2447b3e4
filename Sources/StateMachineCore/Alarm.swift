/// Calls something once after a while, unless it is stopped or released before.
///
/// The task is its only state: whoever holds the alarm owns the task.
final class Alarm: Sendable {
    private let task: Task<Void, Never>

    init(
        after duration: Duration,
        on clock: any Clock<Duration>,
        ring: @escaping @Sendable () -> Void
    ) {
        self.task = Task {
            do {
                try await clock.sleep(for: duration, tolerance: nil)
            } catch {
                // Stopped: the sleep's only error.
                return
            }
            ring()
        }
    }

    func stop() { self.task.cancel() }

    deinit { self.task.cancel() }
}

/// A reading of how long ago the call was.
func stopwatch<C: Clock>(on clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
}

import Dispatch

/// Calls something once after a while, unless it is stopped or released before.
///
/// On the continuous clock this is a Dispatch timer on a queue of its own: a task would sleep on
/// one of Dispatch's global queues, and after the first such task Dispatch checks the threads of
/// those every second until the process ends. So time in which the whole machine sleeps does not
/// count. On any other clock it is a task.
///
/// The timer or task is its only state, owned by the holder of the alarm.
package final class Alarm: Sendable {
    /// Stops it.
    let stop: @Sendable () -> Void

    package init(
        after duration: Duration,
        on clock: any Clock<Duration>,
        ring: @escaping @Sendable () -> Void
    ) {
        guard clock is ContinuousClock else {
            let task = Task {
                do {
                    try await clock.sleep(for: duration, tolerance: nil)
                } catch {
                    // Stopped: the sleep's only error.
                    return
                }
                ring()
            }
            self.stop = { task.cancel() }
            return
        }
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "alarm"))
        timer.setEventHandler(handler: ring)
        timer.schedule(deadline: .now() + duration.interval)
        timer.activate()
        // Which it may be from anywhere.
        nonisolated(unsafe) let set = timer
        self.stop = { set.cancel() }
    }

    deinit { self.stop() }
}

extension Duration {
    /// For Dispatch; a duration too long for it becomes `.never`.
    fileprivate var interval: DispatchTimeInterval {
        let (seconds, attoseconds) = self.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        // Leaves a minute, since it is added to the present time.
        guard !overflows, whole < .max - 60_000_000_000 else { return .never }
        // Rounded up: an alarm never rings too early.
        return .nanoseconds(max(0, Int(whole + (attoseconds + 999_999_999) / 1_000_000_000)))
    }
}

/// Returns a function that tells how long ago this call was.
func stopwatch<C: Clock>(on clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
}

/// A function that is called once, with the first of several values.
///
/// Guarded state, behind `told`: the function, until it has been called.
final class Once<Value: Sendable>: Sendable {
    private let told: Lock<(@Sendable (Value) -> Void)?>

    init(_ told: @escaping @Sendable (Value) -> Void) { self.told = Lock(told) }

    func give(_ value: Value) { self.told.withLock { $0.take() }?(value) }

    /// Waits, without a thread, for the first answer that `begin` brings; for `none` if the task is
    /// cancelled before.
    ///
    /// `begin` may return the alarm that would give another answer, which is stopped after the first.
    static func answer(orIfCancelled none: Value, _ begin: (Once) -> Alarm?) async -> Value {
        var alarm: Alarm?
        defer { alarm?.stop() }
        return await Withdrawal.awaited { continuation, withdrawal in
            let once = Once { continuation.resume(returning: $0) }
            withdrawal.has { once.give(none) }
            alarm = begin(once)
        }
    }
}

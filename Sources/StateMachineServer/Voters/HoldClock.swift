import NIOCore
import StateMachineCore

/// When holds of a name are over: by the wall clock, which may be set and sleeps with the machine, unless that is doubted.
///
/// Belongs to the event loop.
final class HoldClock {
    private let clock: any StayClock
    private let loop: any EventLoop
    /// Whether the wall clock is believed; nil: it is.
    private var doubt: ClockDoubt?
    /// Rings when one may be over.
    private var timer: Scheduled<Void>?

    init(by clock: any StayClock, on loop: any EventLoop) {
        self.clock = clock
        self.loop = loop
    }

    /// Begins to count, after a run that has left these times.
    func begin(after times: [WallTime]) {
        self.doubt = times.max().map { ClockDoubt(at: self.clock.moment, after: $0) }
    }

    /// What the wall clock shows.
    var now: WallTime { self.clock.moment.wall }

    /// Whether one is over that ends at that time.
    func isOver(_ until: WallTime) -> Bool {
        let now = self.clock.moment
        return until <= now.wall && self.doubt?.permits(now) ?? true
    }

    /// Whether one would be over, by a clock that is doubted.
    func isDoubted(_ until: WallTime) -> Bool { until <= self.now && !self.isOver(until) }

    /// Calls `body` when the next one may be over, in place of whom it would have called; nil: never.
    ///
    /// In an hour at most, also while the clock is doubted: what is asked meanwhile is decided by the clock as it is then.
    func wait(until next: WallTime?, _ body: @escaping () -> Void) {
        self.stop()
        guard let next else { return }
        let now = self.now
        let left = TimeAmount.microseconds(max(next, now).microseconds - now.microseconds)
        let pause = self.isDoubted(next) ? .hours(1) : min(left, .hours(1))
        self.timer = self.loop.assumeIsolated().scheduleTask(in: pause) { body() }
    }

    func stop() {
        self.timer?.cancel()
        self.timer = nil
    }
}

import Foundation
package import StateMachineCore

/// Clocks for stays that a test advances; a new instance is a restart of the computer, or another
/// one.
///
/// `@unchecked Sendable`: `lock` guards the time, the timers, and the listeners for a set wall
/// clock.
package final class ManualStayClock: StayClock, @unchecked Sendable {
    private let lock = NSLock()
    private var now: StayMoment
    private var timers: [Int: Set] = [:]
    private var listeners: [Int: @Sendable () -> Void] = [:]
    private var lastNumber = 0

    private struct Set {
        let at: Int64
        let ring: @Sendable () -> Void
    }

    /// That long after the boot, at that time; the default time is 2026-11-20T12:00:00Z.
    package init(
        uptime: Duration = .seconds(100),
        wall: WallTime = WallTime(microseconds: 1_795_176_000_000_000)
    ) {
        self.now = StayMoment(uptime: uptime.wholeMicroseconds, wall: wall)
    }

    package var moment: StayMoment { self.lock.withLock { self.now } }

    package func moment(ofChangeAt stamp: WallTime) -> StayMoment { self.moment }

    /// Advances the time; timers that become due ring, the earliest first.
    package func pass(_ duration: Duration) {
        let due = self.lock.withLock {
            let micros = duration.wholeMicroseconds
            self.now = StayMoment(
                uptime: self.now.uptime + micros,
                wall: WallTime(microseconds: self.now.wall.microseconds + micros)
            )
            let due = self.timers.filter { $0.value.at <= self.now.uptime }
            for number in due.keys { self.timers[number] = nil }
            return due.values.sorted { $0.at < $1.at }
        }
        for timer in due { timer.ring() }
    }

    /// Sets the wall clock forward or, if `duration` is negative, back.
    package func setWall(by duration: Duration) {
        let listeners = self.lock.withLock {
            let wall = self.now.wall.microseconds + duration.wholeMicroseconds
            self.now = StayMoment(uptime: self.now.uptime, wall: WallTime(microseconds: wall))
            return Array(self.listeners.values)
        }
        for listener in listeners { listener() }
    }

    package func timer(_ ring: @escaping @Sendable () -> Void) -> (any StayTimer)? {
        ManualTimer(clock: self, number: self.number(), ring: ring)
    }

    package func onSetting(_ handler: @escaping @Sendable () -> Void) -> (any Sendable)? {
        let number = self.number()
        self.lock.withLock { self.listeners[number] = handler }
        return Listening(clock: self, number: number)
    }

    private func number() -> Int {
        self.lock.withLock {
            self.lastNumber += 1
            return self.lastNumber
        }
    }

    private func set(_ number: Int, after delay: Duration?, _ ring: @escaping @Sendable () -> Void)
    {
        self.lock.withLock {
            self.timers[number] = delay.map {
                Set(at: self.now.uptime + $0.wholeMicroseconds, ring: ring)
            }
        }
    }

    private struct ManualTimer: StayTimer {
        let clock: ManualStayClock
        let number: Int
        let ring: @Sendable () -> Void

        func set(after delay: Duration) {
            self.clock.set(self.number, after: delay, self.ring)
        }

        func stop() { self.clock.set(self.number, after: nil, self.ring) }
    }

    private final class Listening: Sendable {
        private let clock: ManualStayClock
        private let number: Int

        init(clock: ManualStayClock, number: Int) {
            self.clock = clock
            self.number = number
        }

        deinit { self.clock.lock.withLock { self.clock.listeners[self.number] = nil } }
    }
}

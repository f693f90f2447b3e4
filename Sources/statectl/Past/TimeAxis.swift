import Glibc
import StateMachineCore

/// The marks of a span of time: round local times, so far apart that their labels have room.
struct TimeAxis {
    struct Mark: Equatable {
        /// In microseconds.
        let time: Int64
        let label: String
    }

    let start: Int64
    let end: Int64
    let isUTC: Bool

    private static let second: Int64 = 1_000_000
    private static let day = 86_400 * Self.second
    /// Milliseconds, then seconds, minutes, hours and days.
    private static let steps: [Int64] =
        [1, 2, 5, 10, 20, 50, 100, 200, 500].map { $0 * 1000 }
        + [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].map { $0 * Self.second }
        + [1, 2, 3, 6, 12].map { $0 * 3600 * Self.second }
        + [1, 2, 7, 14, 28, 91, 182, 364, 1820, 3640].map { $0 * Self.day }

    /// The marks, at most that many; none if the span is too short for two.
    func marks(atMost count: Int) -> [Mark] {
        guard count > 0, self.end > self.start,
            let step = Self.steps.first(where: { (self.end - self.start) / $0 < Int64(count) })
        else { return [] }
        let offset = self.offset(at: self.start)
        var next = (self.start + offset).dividedRoundingUp(by: step) * step - offset
        var marks: [Mark] = []
        while next <= self.end {
            // Where the clocks are changed in between, days begin at another time.
            let time = step < Self.day ? next : next + offset - self.offset(at: next)
            if let label = self.label(of: time, step: step) {
                marks.append(Mark(time: time, label: label))
            }
            next += step
        }
        return marks
    }

    private func label(of time: Int64, step: Int64) -> String? {
        guard let shown = LocalTime(WallTime(microseconds: time), inUTC: self.isUTC) else {
            return nil
        }
        let clock = shown.time.prefix(12)
        if step >= 182 * Self.day { return String(shown.date.prefix(7)) }
        if step >= Self.day || clock == "00:00:00.000" { return String(shown.date.dropFirst(5)) }
        if step >= 60 * Self.second { return String(clock.prefix(5)) }
        return String(step >= Self.second ? clock.prefix(8) : clock.dropFirst(6))
    }

    /// The microseconds by which local time is ahead of UTC.
    private func offset(at time: Int64) -> Int64 {
        guard !self.isUTC else { return 0 }
        var seconds = time_t(time / Self.second)
        var fields = tm()
        localtime_r(&seconds, &fields)
        return Int64(fields.tm_gmtoff) * Self.second
    }
}

extension Int64 {
    fileprivate func dividedRoundingUp(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor > 0 ? quotient + 1 : quotient
    }
}

import NIOCore

/// Decides when a paced watch may be sent a line and when it is due a beat; sets no timer.
struct WatchPace {
    private let interval: TimeAmount?
    private let beat: TimeAmount?
    private var lastLine: NIODeadline?
    private var quietSince: NIODeadline

    /// A pace of at least `everyMs` between two lines (0 for none) and at most `beatMs` of silence (nil
    /// for any).
    init(everyMs: UInt64, beatMs: UInt64?, now: NIODeadline) {
        self.interval = everyMs == 0 ? nil : .bounded(milliseconds: everyMs)
        self.beat = beatMs.map { .bounded(milliseconds: $0) }
        self.quietSince = now
    }

    /// Whether time matters to it at all.
    var isTimed: Bool { self.interval != nil || self.beat != nil }

    /// How long the next line has to wait; nil if it may go now.
    func wait(at now: NIODeadline) -> TimeAmount? {
        guard let interval, let lastLine, lastLine + interval > now else { return nil }
        return lastLine + interval - now
    }

    /// How long until a beat is due if nothing is sent; zero if it is due; nil for never.
    func untilBeat(at now: NIODeadline) -> TimeAmount? {
        guard let beat else { return nil }
        let due = self.quietSince + beat
        return due > now ? due - now : .zero
    }

    /// Notes that a line was sent; a beat, for one, does not make the next line wait.
    mutating func wrote(at now: NIODeadline, holdsBackNext: Bool) {
        self.quietSince = now
        if holdsBackNext { self.lastLine = now }
    }
}

extension TimeAmount {
    /// At most a hundred years, so that the nanoseconds fit.
    static func bounded(milliseconds: UInt64) -> TimeAmount {
        .milliseconds(Int64(min(milliseconds, 3_155_760_000_000)))
    }
}

import CPlatform

/// Waits awake for what is expected at once: to sleep and be woken would take longer than that.
///
/// It gives way to every other thread, and does nothing where there is one processor to run them all.
package struct AdaptiveSpin: Sendable {
    /// How long it waits.
    private let timeout: Duration
    /// How often it is not to wait, since it was in vain.
    private var left = 0
    /// How often it was not to wait after the last time that it was in vain; 0 after one that was not.
    private var pause = 0

    /// How long it waits unless told otherwise.
    ///
    /// 100 µs: twice the round trip of a request, measured on a virtual machine, where a thread on an idle
    /// processor takes 30 to 50 to wake up.
    private static let usualTimeout: Duration = .microseconds(100)

    /// How often it does not wait at most, after it has in vain: what is expected takes longer than that.
    ///
    /// 31: so it costs 3 µs a time then. Not tuned.
    private static let longestPause = 31

    package init(timeout: Duration? = nil) {
        self.timeout = timeout ?? Self.usualTimeout
    }

    /// Calls `hasCome` again and again until it is true or the timeout is at its end.
    ///
    /// In vain, it does not the next time, and each time in vain thereafter twice as often and once more.
    ///
    /// - Returns: whether it was called at all.
    package mutating func wait(until hasCome: () -> Bool) -> Bool {
        guard Processors.areSeveral else { return false }
        guard self.left == 0 else {
            self.left -= 1
            return false
        }
        let end = ContinuousClock.now + self.timeout
        while !hasCome() {
            guard ContinuousClock.now < end else {
                self.pause = min(self.pause * 2 + 1, Self.longestPause)
                self.left = self.pause
                return true
            }
            sched_yield()
        }
        self.pause = 0
        return true
    }
}

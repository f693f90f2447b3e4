import CPlatform

/// Spins for something that is expected at once: sleeping and being woken would take longer.
///
/// It yields to every other thread, and does nothing on a single processor.
package struct AdaptiveSpin: Sendable {
    /// How long it waits.
    private let timeout: Duration
    /// How many more waits to skip, since the last was in vain.
    private var left = 0
    /// How many waits were skipped after the last one in vain; 0 after a success.
    private var pause = 0

    /// The most waits it skips after waiting in vain: what is expected then takes longer than that.
    ///
    /// 31: so it then costs 3 µs each time. Not tuned.
    private static let longestPause = 31

    /// Waits that long.
    ///
    /// - Parameter timeout: 100 µs: twice the round trip of a request, measured on a virtual machine, where a thread on an
    ///   idle processor takes 30 to 50 to wake up.
    package init(timeout: Duration = .microseconds(100)) { self.timeout = timeout }

    /// Calls `hasCome` again and again until it is true or the timeout has passed.
    ///
    /// After a wait in vain it skips the next one, and after each further one twice as many plus
    /// one.
    package mutating func wait(until hasCome: () -> Bool) {
        guard Processors.areSeveral else { return }
        guard self.left == 0 else {
            self.left -= 1
            return
        }
        let end = ContinuousClock.now + self.timeout
        while !hasCome() {
            guard ContinuousClock.now < end else {
                self.pause = min(self.pause * 2 + 1, Self.longestPause)
                self.left = self.pause
                return
            }
            sched_yield()
        }
        self.pause = 0
    }
}

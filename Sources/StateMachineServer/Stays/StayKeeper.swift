import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Notes in the history, within a second, that a deadline has begun anew.
///
/// However often it begins anew in that time, that is noted once.
///
/// `@unchecked Sendable`: its variables are touched on the event loop only.
final class StayKeeper: @unchecked Sendable {
    /// How long the first change waits for others.
    ///
    /// 500 ms: the rest of a second is for the disk. Picked.
    private static var pause: Duration { .milliseconds(500) }

    private let history: any TransitionHistory
    private let starts: StayStarts
    private let loop: any EventLoop
    private var timer: (any StayTimer)?
    /// The stay to be noted; nil if there is none.
    private var stay: UInt64?
    /// How long to wait while the disk refuses.
    private var retries = GrowingPause()

    init(_ history: any TransitionHistory, _ starts: StayStarts, on loop: any EventLoop) {
        self.history = history
        self.starts = starts
        self.loop = loop
    }

    /// Notes that the stay counts from another moment now.
    func changed(_ stay: UInt64) {
        let isWaiting = self.stay != nil
        self.stay = stay
        if !isWaiting { self.wait(Self.pause) }
    }

    /// Keeps at once what is still to be noted, and nothing after that.
    func stop() {
        self.timer?.stop()
        self.timer = nil
        self.keep { _ in }
    }

    private func wait(_ pause: Duration) {
        if self.timer == nil {
            self.timer = self.starts.clock.timer { [loop] in loop.execute { self.rang() } }
        }
        // Without a timer it is noted each time.
        if let timer { timer.set(after: pause) } else { self.rang() }
    }

    private func rang() {
        guard let stay = self.stay else { return }
        self.keep { [loop] failure in loop.execute { self.kept(stay, failure) } }
    }

    private func keep(_ done: @escaping @Sendable (String?) -> Void) {
        guard let stay = self.stay.take(), let start = self.starts.newest(of: stay) else { return }
        self.history.keep(start, done: done)
    }

    private func kept(_ stay: UInt64, _ failure: String?) {
        guard failure != nil else { return self.retries.reset() }
        // A newer one that waits already is tried instead.
        guard self.stay == nil else { return }
        self.stay = stay
        self.wait(self.retries.next())
    }
}

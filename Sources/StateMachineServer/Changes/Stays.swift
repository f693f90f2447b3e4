import NIOCore
import StateMachineCore
import StateMachineProtocol
import Synchronization

/// The stay that a machine is in, and what time does to it.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only, but for `renewals`, which is atomic.
final class Stays<State: MachineState>: @unchecked Sendable {
    private let machine: StateMachine<State>
    private let behaviour: any StateBehaviour<State>
    private let loop: any EventLoop
    private let place: any CompletionPlace
    private let fragment: (State) -> [UInt8]

    /// The newest stay, and since when its deadline counts.
    private var newest: (seq: UInt64, since: WallTime)
    /// Where the machine was when it was last handed over.
    private var snapshot: Snapshot<State>
    private var armed: Armed?
    /// Tries that were set, by which one that is to come is told from those that were put off.
    private var attempts = 0
    private var isMoving = false
    /// Goes up when an event has the deadline begin anew, at the event's turn: a move of the deadline that
    /// was proposed before has no reason any more.
    private let renewals = Atomic<UInt64>(0)

    /// A deadline that is waited for, or has come and was not allowed.
    private struct Armed {
        let stay: UInt64
        let since: WallTime
        let timer: BootTimer?
        /// How long to wait before it is tried once more.
        var pause = Duration.seconds(1)
        /// Whether it has come, and is to be tried again.
        var isOverdue = false
        /// The try that is to come; one that has been put off for another is not made.
        var attempt: Int
    }

    /// The longest pause between two tries of a move that is denied, or that the disk refuses.
    private static var longestPause: Duration { .seconds(60) }

    init(
        of machine: StateMachine<State>,
        from snapshot: Snapshot<State>,
        _ behaviour: any StateBehaviour<State>,
        on loop: any EventLoop,
        in place: any CompletionPlace,
        fragment: @escaping (State) -> [UInt8]
    ) {
        self.machine = machine
        self.snapshot = snapshot
        self.newest = (snapshot.stay, snapshot.at)
        self.behaviour = behaviour
        self.loop = loop
        self.place = place
        self.fragment = fragment
    }

    /// A transition was committed; in their order, and perhaps more than once.
    func committed(_ transition: Transition<State>) {
        guard transition.stay == transition.seq, transition.seq > self.newest.seq else { return }
        self.newest = (transition.seq, transition.at)
    }

    /// What lines show of the stay that the machine was in there.
    func stay(at snapshot: Snapshot<State>) -> ServerLine.Stay {
        let due = self.behaviour.deadline(of: snapshot.state).map { deadline in
            ServerLine.Due(
                fragment: self.fragment(deadline.next),
                at: self.since(snapshot).advanced(by: deadline.delay)
            )
        }
        return ServerLine.Stay(seq: snapshot.stay, due: due)
    }

    private func since(_ snapshot: Snapshot<State>) -> WallTime {
        snapshot.stay == self.newest.seq ? self.newest.since : snapshot.at
    }

    /// What declares the machine is another, and it is there: the deadline is as that says, from the stay's
    /// start.
    func redeclared(_ snapshot: Snapshot<State>) {
        if snapshot.seq == self.snapshot.seq { self.snapshot = snapshot }
        self.disarm()
        self.arm()
    }

    /// The machine has been handed over so far.
    func passed(_ snapshot: Snapshot<State>) { self.snapshot = snapshot }

    /// The deadline of the stay begins anew, if the machine is in that one still.
    func renew(_ stay: UInt64) {
        guard stay == self.newest.seq else { return }
        self.newest.since = .now
        self.arm()
    }

    /// An event has the deadline begin anew; called at its turn, on whatever thread.
    func willRenew() { self.renewals.add(1, ordering: .sequentiallyConsistent) }

    /// Whoever may have a say is here.
    func begin() {
        self.isMoving = true
        self.arm()
    }

    /// Waits for the deadline of the present stay, and for no other.
    func arm() {
        guard self.isMoving else { return }
        let (stay, since) = (self.snapshot.stay, self.since(self.snapshot))
        if let armed = self.armed, armed.stay == stay, armed.since == since { return }
        self.disarm()
        guard let deadline = self.behaviour.deadline(of: self.snapshot.state) else { return }
        // The wall clock is asked for what has passed, never for what is to come.
        let passed = max(.zero, since.duration(to: .now))
        let left = max(.zero, deadline.delay - passed)
        self.attempts += 1
        let attempt = self.attempts
        let timer = BootTimer(after: left) { [loop] in
            loop.execute { self.came(stay, since, attempt: attempt) }
        }
        self.armed = Armed(stay: stay, since: since, timer: timer, attempt: attempt)
        // Without one of the kernel's: late by what the machine sleeps.
        if timer == nil { self.tryAgain(after: left, stay, since) }
    }

    private func disarm() {
        self.armed?.timer?.stop()
        self.armed = nil
    }

    func stop() {
        self.isMoving = false
        self.disarm()
    }

    private func came(_ stay: UInt64, _ since: WallTime, attempt: Int) {
        guard self.isMoving, let armed = self.armed, armed.stay == stay, armed.since == since,
            armed.attempt == attempt,
            let deadline = self.behaviour.deadline(of: self.snapshot.state)
        else { return }
        self.armed?.isOverdue = false
        let behaviour = self.behaviour
        let renewals = self.renewals.load(ordering: .sequentiallyConsistent)
        let move = Move<State>(
            to: .made { behaviour.deadline(of: $0.state)?.next },
            if: .holds {
                $0.stay == stay
                    && self.renewals.load(ordering: .sequentiallyConsistent) == renewals
            },
            as: .enter,
            cause: deadline.cause
        )
        self.machine.propose(move, isTimed: true, in: self.place) { result in
            switch result {
            case .success, .failure(.illegal): break
            case .failure(.conflict):
                // Left, or to begin anew; if neither was to be, it is tried again.
                guard self.armed?.attempt == attempt else { return }
                self.tryAgain(after: .milliseconds(10), stay, since)
            case .failure(.denied), .failure(.stale), .failure(.notCommitted),
                .failure(.overloaded), .failure(.wouldWait), .failure(.withdrawn):
                self.retry(stay, since, attempt)
            }
        }
    }

    /// Tries once more after a pause that grows, for as long as the stay lasts.
    private func retry(_ stay: UInt64, _ since: WallTime, _ attempt: Int) {
        guard let armed = self.armed, armed.attempt == attempt else { return }
        self.armed?.pause = min(armed.pause * 2, Self.longestPause)
        self.armed?.isOverdue = true
        self.tryAgain(after: armed.pause, stay, since)
    }

    private func tryAgain(after pause: Duration, _ stay: UInt64, _ since: WallTime) {
        guard self.armed != nil else { return }
        self.attempts += 1
        let attempt = self.attempts
        self.armed?.attempt = attempt
        self.loop.assumeIsolated().scheduleTask(in: TimeAmount(pause)) {
            self.came(stay, since, attempt: attempt)
        }
    }

    /// What was denied may be allowed now.
    func voterWent() {
        guard let armed = self.armed, armed.isOverdue else { return }
        self.armed?.pause = .seconds(1)
        // Not before all that goes with it has gone.
        self.tryAgain(after: .zero, armed.stay, armed.since)
    }
}

extension WallTime {
    fileprivate func advanced(by duration: Duration) -> WallTime {
        let (seconds, attoseconds) = duration.components
        return WallTime(
            microseconds: self.microseconds + seconds * 1_000_000
                + attoseconds / 1_000_000_000_000
        )
    }

    fileprivate func duration(to other: WallTime) -> Duration {
        .microseconds(other.microseconds - self.microseconds)
    }
}

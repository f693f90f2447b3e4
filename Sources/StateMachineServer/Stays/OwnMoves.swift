import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The moves that a machine makes by itself: each is made when it is due, and tried again for as long as the
/// stay lasts.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only.
final class OwnMoves: @unchecked Sendable {
    private let machine: Machine
    private let schema: any Schema
    private let starts: StayStarts
    private let loop: any EventLoop
    /// Where the machine answers.
    private let cursor: Drain

    /// The newest snapshot that was handed over.
    private(set) var snapshot: Place
    /// The stay that the new boot of the computer is to end; nil if none.
    private var interrupted: UInt64?
    private var pending: Pending?
    /// The number of the last that was pending.
    private var number: UInt64 = 0
    private var timer: (any StayTimer)?
    private var isMoving = false
    private var breaker = MoveBreaker()
    /// Called when moves are withheld, and with nil when they no longer are.
    private var tell: (Suspension?) -> Void = { _ in }
    /// Called when the boot move was made, or could not be.
    private var onBoot: (() -> Void)?

    private enum Reason {
        case boot
        case deadline
    }

    /// A move that is waited for, or is due and was not allowed.
    private struct Pending {
        let number: UInt64
        let reason: Reason
        let start: StayStart
        /// When it is tried next, by the uptime in microseconds.
        var at: Int64
        /// How long to wait before it is tried once more.
        var pause = GrowingPause()
        /// Whether it is overdue, and is to be tried again.
        var isOverdue = false
        /// Whether it is being tried, or was made.
        var isTried = false
    }

    init(
        of machine: Machine,
        from snapshot: Place,
        _ schema: any Schema,
        _ starts: StayStarts,
        isFirstInBoot: Bool,
        on loop: any EventLoop,
        at cursor: Drain
    ) {
        self.machine = machine
        self.snapshot = snapshot
        self.schema = schema
        self.starts = starts
        self.loop = loop
        self.cursor = cursor
        self.interrupted =
            isFirstInBoot && schema.boot(of: snapshot.value) != nil ? snapshot.stay : nil
    }

    /// Whether that stay is from before the new boot, and is to end because of it.
    func isInterrupted(_ stay: UInt64) -> Bool { self.interrupted == stay }

    // MARK: - What happens

    /// Makes the boot move, if there is one, before anybody is there.
    ///
    /// - Parameter done: called when it was made or could not be; a failed one is tried again later.
    func boot(_ done: @escaping () -> Void) {
        guard let stay = self.interrupted, let start = self.starts.newest(of: stay) else {
            return done()
        }
        self.onBoot = done
        self.expect(.boot, start, at: 0)
        self.tryIt()
    }

    /// Begins to make moves: whoever may have a say is here.
    ///
    /// - Parameter tell: called when moves are withheld, and with nil when they no longer are.
    func begin(telling tell: @escaping (Suspension?) -> Void) {
        self.tell = tell
        self.isMoving = true
        self.pending = nil
        self.arm()
    }

    func stop() {
        self.isMoving = false
        self.pending = nil
        self.timer?.stop()
        self.timer = nil
        self.tell = { _ in }
    }

    /// Notes how far the machine has been handed over.
    func passed(_ snapshot: Place) { self.snapshot = snapshot }

    /// Tries again after a hold or a guard has gone: what was denied may be allowed now.
    func voterWent() {
        self.pending?.pause.reset()
        self.tryAgain()
    }

    /// Stops withholding moves: somebody asks for something.
    func lift() {
        guard self.breaker.lift() else { return }
        self.tell(nil)
        self.tryAgain()
    }

    private func tryAgain() {
        guard self.pending?.isOverdue == true else { return }
        self.pending?.at = self.now.uptime
        // Not before everything that goes with it has happened.
        self.loop.assumeIsolated().execute { self.rang() }
    }

    // MARK: - Moves that somebody else knows of

    /// Why no move may be made now, so that the caller has to come again; nil if one may be.
    func suspension() -> Suspension? {
        let wasWithheld = self.breaker.isOpen
        guard let (most, time) = self.schema.allowance(of: self.snapshot.value) else { return nil }
        guard !self.breaker.permits(most, within: time, at: self.now) else { return nil }
        let suspension = Suspension(moves: most, time: time)
        if !wasWithheld { self.tell(suspension) }
        return suspension
    }

    /// Notes that a move was made.
    func moved() { self.breaker.moved(at: self.now) }

    // MARK: - Waiting

    private var now: StayMoment { self.starts.clock.moment }

    /// Forgets what is pending, and waits for what the present stay now has.
    func armAnew() {
        if self.pending.take() != nil { self.timer?.stop() }
        self.arm()
    }

    /// Waits for what the present stay has, and for nothing else.
    func arm() {
        guard self.isMoving else { return }
        let snapshot = self.snapshot
        let start =
            self.starts.newest(of: snapshot.stay)
            ?? self.starts.start(of: snapshot.stay, at: snapshot.seq, snapshot.at)
        let reason = self.interrupted == snapshot.stay ? Reason.boot : .deadline
        if let pending, pending.start == start, pending.reason == reason { return }
        let wasPending = self.pending.take() != nil
        switch reason {
        case .boot: self.expect(.boot, start, at: self.now.uptime)
        case .deadline:
            guard let deadline = self.schema.deadline(of: snapshot.value) else {
                if wasPending { self.timer?.stop() }
                return
            }
            let delay = deadline.delay.wholeMicroseconds
            self.expect(.deadline, start, at: start.moment.uptime &+ delay)
        }
        self.wait()
    }

    private func expect(_ reason: Reason, _ start: StayStart, at uptime: Int64) {
        self.number += 1
        self.pending = Pending(number: self.number, reason: reason, start: start, at: uptime)
    }

    private func wait() {
        guard let pending = self.pending else { return }
        let left = Duration.microseconds(pending.at &- self.now.uptime)
        guard left > .zero else { return self.loop.assumeIsolated().execute { self.rang() } }
        if self.timer == nil {
            self.timer = self.starts.clock.timer { [loop] in loop.execute { self.rang() } }
        }
        if let timer {
            timer.set(after: left)
        } else {
            // Without a kernel timer: late by the time that the computer sleeps.
            self.loop.assumeIsolated().scheduleTask(in: TimeAmount(left)) { self.rang() }
        }
    }

    /// A moment has come, perhaps one that is not waited for any more.
    private func rang() {
        guard self.isMoving, let pending = self.pending, !pending.isTried else { return }
        if pending.at > self.now.uptime { self.wait() } else { self.tryIt() }
    }

    // MARK: - Moving

    private func tryIt() {
        guard let pending = self.pending else { return }
        guard self.suspension() == nil else {
            self.pending?.isOverdue = true
            self.onBoot.take()?()
            return
        }
        let (start, starts, schema) = (pending.start, self.starts, self.schema)
        let made: @Sendable (Value) -> MachineMove? =
            switch pending.reason {
            case .boot: { schema.boot(of: $0) }
            case .deadline: { schema.deadline(of: $0)?.move }
            }
        let delay = schema.deadline(of: self.snapshot.value)?.delay
        self.pending?.isTried = true
        let cause = made(self.snapshot.value)?.cause
        // At the move's turn the declaration, and with it what is due, may have changed.
        let isDue: @Sendable (Place) -> Bool = {
            $0.stay == start.stay && starts.newest(of: start.stay) == start
                && schema.deadline(of: $0.value)?.delay == delay
        }
        self.machine.propose(
            Move(
                to: .made { place in made(place.value).map { .enter($0.next) } ?? .nothing(.same) },
                if: .holds(isDue),
                as: .enter,
                cause: cause
            ),
            asking: Question(),
            at: self.cursor
        ) { self.tried(pending.number, $0) }
    }

    private func tried(_ number: UInt64, _ answer: Move.Answer) {
        if case .success(.committed) = answer { self.moved() }
        defer { self.onBoot.take()?() }
        guard self.pending?.number == number else { return }
        guard case .failure(let error) = answer else { return }
        switch error.reason {
        case .illegal: break
        case .conflict:
            // The stay has ended, or begun anew.
            self.pending?.isTried = false
            self.arm()
        case .denied, .stale, .notCommitted, .overloaded, .wouldWait, .withdrawn: self.retry()
        }
    }

    /// Tries once more after a pause that grows, for as long as the stay lasts.
    private func retry() {
        guard let pause = self.pending?.pause.next() else { return }
        self.pending?.isTried = false
        self.pending?.isOverdue = true
        self.pending?.at = self.now.uptime &+ pause.wholeMicroseconds
        self.wait()
    }
}

/// Why a machine makes no moves of its own: it made so many in so much time, while nobody asked for
/// anything.
struct Suspension: Hashable, Sendable, CustomStringConvertible {
    let moves: Int
    let time: Duration

    var description: String { "\(self.moves) within \(self.time)" }
}

/// Limits the moves per time that a machine makes by itself while nobody asks for anything.
struct MoveBreaker {
    /// When the moves since the last request were made, by the uptime in microseconds.
    private var moves = CircularBuffer<Int64>()
    /// Whether one was withheld; then all are, until somebody asks for something.
    private(set) var isOpen = false

    /// Whether one may be made now.
    mutating func permits(_ most: Int, within time: Duration, at now: StayMoment) -> Bool {
        let first = now.uptime &- time.wholeMicroseconds
        while let move = self.moves.first, move <= first { self.moves.removeFirst() }
        if self.moves.count >= most { self.isOpen = true }
        return !self.isOpen
    }

    /// Notes that a move was made.
    mutating func moved(at now: StayMoment) { self.moves.append(now.uptime) }

    /// Starts counting anew: somebody asks for something.
    ///
    /// - Returns: whether moves were withheld.
    mutating func lift() -> Bool {
        guard !self.moves.isEmpty || self.isOpen else { return false }
        self.moves.removeAll(keepingCapacity: true)
        return exchange(&self.isOpen, with: false)
    }
}

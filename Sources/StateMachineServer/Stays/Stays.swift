import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The stays of a machine: since when each counts, what lines show about it, and the moves that the machine makes by
/// itself: each is made when it is due, and tried again for as long as the stay lasts.
///
/// `@unchecked Sendable`: its variables are touched on the event loop only.
final class Stays: @unchecked Sendable {
    /// Since when they count; may be asked on any thread.
    let starts: StayStarts
    private let machine: Machine
    private let schema: Schema
    /// What is known of the other hosts, where every one that is up makes the machine's moves, and the first wins; nil where there are
    /// none.
    private let sharing: Sharing?
    private let sight: SightBox
    private let loop: any EventLoop
    /// Where the machine answers.
    private let cursor: Drain
    /// Where the machine was when it was last handed over.
    private var snapshot: Place

    /// The subscription that reports when the wall clock is set.
    private var setting: (any Sendable)?
    /// Called with where the machine is and what is due there when that has changed.
    private var correct: (Place, ServerLine.Due?) -> Void = { _, _ in }

    /// The stay that the new boot of the computer is to end; nil if none.
    private var stayCutByBoot: UInt64?
    /// The moves that are waited for, or are due and were not allowed.
    private var watch = StayWatch()
    /// Who denied one when it was last tried, and what they denied, by its key.
    private var denials: [String: (by: [Vote.Denial], of: Motion?)] = [:]
    /// Whether something was denied for what is seen of other machines, which has not changed since.
    private var isDeniedByLinks = false
    private var timer: (any StayTimer)?
    private var isMoving = false
    private var breaker = MoveBreaker()
    /// Called when moves are withheld, and with nil when they no longer are.
    private var tell: (MoveBreaker.Limit?) -> Void = { _ in }
    /// Called when the boot move was made, or could not be.
    private var onBoot: (() -> Void)?
    /// Called when something may be allowed that was denied or withheld.
    var freed: () -> Void = {}

    /// - Parameters:
    ///   - machine: the machine.
    ///   - snapshot: where it is.
    ///   - schema: its states, and what it does.
    ///   - sharing: the hosts that share it; nil if it is this one's alone.
    ///   - sight: what it sees of other machines.
    ///   - beginning: what its last run left; nil if it has no history, and so no starts that are recorded.
    ///   - clock: measures the stays of a machine whose history does not.
    ///   - loop: where all this happens.
    ///   - cursor: where the machine answers.
    init(
        of machine: Machine,
        from snapshot: Place,
        _ schema: Schema,
        sharedBy sharing: Sharing?,
        seeing sight: SightBox,
        after beginning: Beginning?,
        clock: any StayClock,
        on loop: any EventLoop,
        at cursor: Drain
    ) {
        let start = StayStart(stay: snapshot.stay, moment: clock.moment)
        self.starts = beginning?.starts ?? StayStarts(start, clock: clock)
        self.machine = machine
        self.snapshot = snapshot
        self.schema = schema
        self.sharing = sharing
        self.sight = sight
        self.loop = loop
        self.cursor = cursor
        let isFirstInBoot = beginning?.isFirstInBoot ?? false
        self.stayCutByBoot =
            isFirstInBoot && schema.move(on: .boot, at: snapshot) != nil ? snapshot.stay : nil
    }

    // MARK: - What lines show

    /// What the line of a change shows about the stay; the same is recorded with the change.
    ///
    /// - Returns: what is due; nil if nothing.
    func due(after change: Change) -> ServerLine.Due? {
        // Without a deadline the start of the stay is not looked up for every change.
        self.schema.due(at: change.place) {
            self.schema.start(at: change.place, by: self.starts)
        }
    }

    /// What lines show now about the stay that a place is in, whose deadline may have begun again since.
    ///
    /// - Returns: what is due; nil if nothing.
    func due(at place: Place) -> ServerLine.Due? {
        self.schema.due(at: place) { self.start(at: place) }
    }

    /// Since when the stay counts that a place is in.
    private func start(at place: Place) -> StayStart {
        self.starts.newest(of: place.stay) ?? self.schema.start(at: place, by: self.starts)
    }

    /// The milliseconds that are left until the first of the present state's times; 0 if it has passed, nil if there is
    /// none.
    var leftMs: Int64? {
        guard let start = self.starts.newest(of: self.snapshot.stay) else { return nil }
        let now = self.now
        return self.schema.rules?.due(at: self.snapshot).map { $0.left(in: start, at: now) }.min()
            .map { max(0, $0) / 1000 }
    }

    /// Why moves are withheld; nil if they are not.
    var withheld: MoveBreaker.Limit? {
        guard self.breaker.isOpen else { return nil }
        return self.breakerLimit
    }

    /// For how many milliseconds what is due has been overdue, and who denied it; nil if nothing has been tried in vain, or
    /// withheld.
    var overdue: (ms: Int64, denial: (by: [Vote.Denial], of: Motion?)?)? {
        guard let overdue = self.watch.overdue else { return nil }
        return (max(0, self.now.uptime &- overdue.due) / 1000, self.denials[overdue.key])
    }

    // MARK: - What happens

    /// Makes the boot move, if there is one, before anybody is there.
    ///
    /// - Parameter done: called when it was made or could not be; a failed one is tried again later.
    func boot(_ done: @escaping () -> Void) {
        guard self.stayCutByBoot != nil else { return done() }
        self.onBoot = done
        self.watch.expect(self.deadlines)
        self.tryIt()
    }

    /// Begins to make moves; all who may have a say are here.
    ///
    /// - Parameters:
    ///   - correct: called with where the machine is and what is due there when that has changed: a time has passed,
    ///     or the wall clock was set.
    ///   - tell: called when moves are withheld, and with nil when they no longer are.
    func begin(
        correcting correct: @escaping (Place, ServerLine.Due?) -> Void,
        telling tell: @escaping (MoveBreaker.Limit?) -> Void
    ) {
        self.correct = correct
        self.setting = self.starts.clock.onSetting { [loop] in
            loop.execute { self.clockWasSet() }
        }
        self.tell = tell
        self.isMoving = true
        self.watch.expect([])
        self.arm()
    }

    func stop() {
        self.setting = nil
        self.correct = { _, _ in }
        self.isMoving = false
        self.watch.expect([])
        self.timer?.stop()
        self.timer = nil
        self.tell = { _ in }
    }

    /// Notes how far the machine has been handed over.
    func passed(_ snapshot: Place) {
        let isNew = self.snapshot.seq != snapshot.seq
        self.snapshot = snapshot
        guard isNew, self.watch.overdue != nil, self.watch.reconsider(at: self.now.uptime) else {
            return
        }
        self.loop.assumeIsolated().execute { self.rang() }
    }

    /// The machine is there, by changes that nobody here knows, perhaps in another numbering: what was waited for is no more.
    func arrived(at snapshot: Place) {
        self.snapshot = snapshot
        self.watch.expect([])
        self.denials = [:]
        if exchange(&self.breaker, with: MoveBreaker()).isOpen { self.tell(nil) }
        self.arm()
    }

    /// A host of a shared machine may make moves again: what has come to be due meanwhile is made, unless others have.
    func cameUp() {
        guard self.isMoving else { return }
        _ = self.watch.hurry(at: self.now.uptime, anew: true)
        // Not before everything that goes with it has happened.
        self.loop.assumeIsolated().execute { self.rang() }
    }

    /// Counts what was committed for a shared machine, as all of its hosts do.
    func count(_ change: Change) {
        if change.setter != nil {
            self.lift()
        } else if let limit = self.breakerLimit {
            self.breaker.moved(at: change.at.microseconds, keeping: limit.most)
        }
    }

    /// Adapts to a new declaration: what is due follows from it, counted from the stay's start.
    func redeclared(_ snapshot: Place) {
        if snapshot.seq == self.snapshot.seq { self.passed(snapshot) }
        if self.watch.isWaiting { self.timer?.stop() }
        self.watch.expect([])
        // Somebody has asked for this; what is due at once by the new file counts from here on.
        self.lift()
        self.arm()
    }

    /// What an end of a stay's run makes of the machine; nil if nothing, or if the machine is in another stay, or `stay`
    /// in none of its numbering.
    func decision(on end: RunEnd, in stay: UInt64?) -> Decision? {
        self.snapshot.stay == stay
            ? self.schema.move(on: .runEnded(end), at: self.snapshot, seeing: self.sight.now) : nil
    }

    /// Where it is noted that deadlines begin anew; nil while the present stay is one that a new boot is to end, which
    /// the next run could not tell otherwise.
    var renewable: StayStarts? { self.stayCutByBoot == self.snapshot.stay ? nil : self.starts }

    /// Notes that a stay's deadline has begun anew there.
    func renewed(_ place: Place) {
        if self.snapshot.seq == place.seq { self.passed(place) }
        self.arm()
    }

    private func clockWasSet() {
        // A stay that began before that and is not handed over yet counts from the clock as it was.
        self.cursor.catchUp()
        guard self.sharing == nil else {
            // All that is due is, and pauses are measured by that clock, too.
            _ = self.watch.hurry(at: self.now.uptime, anew: false)
            return self.arm(anew: true)
        }
        guard let start = self.starts.newest(of: self.snapshot.stay) else { return }
        let adjusted = start.adjusted(to: self.now)
        if adjusted != start {
            self.starts.correct(adjusted)
            self.keep(adjusted.stay)
        }
        // What is due at a moment of the calendar comes sooner or later now.
        self.arm(anew: true)
        guard adjusted != start else { return }
        self.correct(self.snapshot, self.due(at: self.snapshot))
    }

    private func keep(_ stay: UInt64) {
        // If it counted from this boot, the next run could not tell that it was interrupted.
        guard self.stayCutByBoot != stay else { return }
        guard let start = self.starts.newest(of: stay) else { return }
        self.machine.note(.stay(start))
    }

    // MARK: - What may keep it from moving

    /// Tries again after a hold or a guard has gone: what was denied may be allowed now.
    func voterWent() {
        self.denials = [:]
        self.tryAgain(anew: true)
        self.freed()
    }

    /// Tries again what was denied for what is seen of other machines, which has changed.
    func linksChanged() {
        guard exchange(&self.isDeniedByLinks, with: false) else { return }
        self.denials = [:]
        self.tryAgain(anew: true)
    }

    /// Stops withholding moves: somebody asks for something.
    func lift() {
        guard self.breaker.lift() else { return }
        self.tell(nil)
        self.tryAgain(anew: false)
        self.freed()
    }

    private func tryAgain(anew isAnew: Bool) {
        guard self.watch.hurry(at: self.now.uptime, anew: isAnew) else { return }
        // Not before everything that goes with it has happened.
        self.loop.assumeIsolated().execute { self.rang() }
    }

    // MARK: - Moves that somebody else knows of

    /// Whether moves are withheld now, so that the caller has to come again.
    ///
    /// - Parameter time: when the move is due, where that is known; nil: now.
    /// - Returns: by what limit; nil if one may be made.
    func suspension(at time: Int64? = nil) -> MoveBreaker.Limit? {
        let wasWithheld = self.breaker.isOpen
        guard let limit = self.breakerLimit,
            !self.breaker.permits(limit, at: time ?? self.now.uptime)
        else { return nil }
        if !wasWithheld { self.tell(limit) }
        return limit
    }

    /// How many moves the machine may make by itself, by the declaration of its state.
    private var breakerLimit: MoveBreaker.Limit? {
        self.schema.schema(of: self.snapshot.value).rules?.breaker
    }

    /// Notes that a move was made.
    ///
    /// Of a machine that hosts share ``count(_:)`` does, for moves of all of them.
    func madeMove() {
        if self.sharing == nil { self.breaker.moved(at: self.now.uptime) }
    }

    // MARK: - Waiting

    /// How long a host that shares the machine leaves what is due to each that comes before it, in microseconds.
    ///
    /// 100 ms: a commit takes a few, and clocks that are kept differ by less.
    private static let turn: Int64 = 100_000

    /// Whether the machine's own moves are for this host to make now, if it is one of several.
    private var isUp: Bool { self.sharing?.trouble == nil }

    private var now: StayMoment { self.starts.clock.moment }

    /// Waits for what the present stay has, and for nothing else; `anew`: some of it may come sooner or later now.
    func arm(anew isAnew: Bool = false) {
        guard self.isMoving else { return }
        let deadlines = self.deadlines
        guard isAnew || !self.watch.awaits(deadlines) else { return }
        let wasWaiting = self.watch.isWaiting
        self.watch.expect(deadlines)
        if self.watch.overdue == nil { self.denials = [:] }
        if self.watch.isWaiting {
            self.wait()
        } else if wasWaiting {
            self.timer?.stop()
        }
    }

    /// What the present stay has: what a new boot does to one that it interrupted is due at once, and nothing else is.
    private var deadlines: [StayWatch.Deadline] {
        let place = self.snapshot
        func deadline(
            _ key: String,
            from start: Int64,
            due: Int64,
            renewals: UInt32 = place.renewals
        ) -> StayWatch.Deadline {
            StayWatch.Deadline(
                stay: place.stay,
                renewals: renewals,
                key: key,
                start: start,
                due: due
            )
        }
        if self.stayCutByBoot == place.stay {
            return self.schema.move(on: .boot, at: place, seeing: self.sight.now) == nil
                ? [] : [deadline("", from: 0, due: 0)]
        }
        let all = self.schema.rules?.due(at: place) ?? []
        guard !all.isEmpty else { return [] }
        let (stay, now) = (self.start(at: place), self.now)
        let patience = Int64(self.sharing?.engine.rank ?? 0) &* Self.turn
        return all.map { due in
            let start =
                switch due.moment {
                case .after: due.start(in: stay).moment.uptime
                case .at(let moment): moment.microseconds
                }
            return deadline(
                due.key,
                from: start,
                due: now.uptime &+ due.left(in: stay, at: now) &+ patience,
                // A group's goes on when the stay begins anew.
                renewals: due.group == nil ? place.renewals : 0
            )
        }
    }

    /// Whether the wall clock says when some of it is due, which need not run as fast as the other one.
    private var hasMoments: Bool {
        // Then it says when all of it is.
        guard self.sharing == nil else { return true }
        return self.schema.rules?.due(at: self.snapshot).contains { due in
            if case .at = due.moment { true } else { false }
        } ?? false
    }

    private func wait() {
        guard let next = self.watch.next else { return }
        var left = Duration.microseconds(next &- self.now.uptime)
        // Clocks are slewed by half a thousandth at most, adjtime(3): it is looked at again shortly before.
        if left > .seconds(1), self.hasMoments { left -= left / 1000 }
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
        guard self.isMoving, self.isUp else { return }
        if self.hasMoments { self.watch.expect(self.deadlines) }
        if !self.tryIt() { self.wait() }
    }

    // MARK: - Moving

    /// Tries the move if its time has come; returns whether it has.
    @discardableResult
    private func tryIt() -> Bool {
        guard let attempt = self.watch.rang(at: self.now.uptime) else { return false }
        let deadline = attempt.deadline
        let (schema, starts, sight) = (self.schema, self.starts, self.sight)
        let version = sight.version
        let isBoot = self.stayCutByBoot == deadline.stay
        let stimulus: Stimulus = isBoot ? .boot : .time(deadline.key)
        let decision = try? schema.rules?
            .decide(stimulus, at: self.snapshot, seeing: sight.now, starts)
        // What changes nothing is not one too many.
        let isSilent = if case .pass? = decision?.made { !self.breaker.isOpen } else { false }
        let due = schema.rules?.due(at: self.snapshot).first { $0.key == deadline.key }
        // So that all hosts that share it agree.
        let moment = self.sharing == nil ? nil : due?.wall(in: self.start(at: self.snapshot))
        guard isSilent || self.suspension(at: moment?.microseconds) == nil else {
            self.watch.withheld(attempt)
            self.denials[deadline.key] = nil
            self.onBoot.take()?()
            return true
        }
        let isShared = self.sharing != nil
        // At the move's turn the declaration, and with it what is due, may have changed.
        let isDue: @Sendable (Place) -> Bool = { place in
            guard place.stay == deadline.stay,
                due?.group != nil || place.renewals == deadline.renewals
            else { return false }
            if isBoot { return schema.move(on: .boot, at: place, seeing: sight.now) != nil }
            guard let due, schema.rules?.due(at: place).contains(due) == true else { return false }
            guard isShared, let start = starts.newest(of: place.stay) else { return true }
            // Another stay may have its number by now, or the clock may have been set.
            return due.left(in: start, at: starts.clock.moment) <= 0
        }
        self.machine.propose(
            Move(
                to: .made { (place) throws(Refused) in
                    try schema.made(stimulus, at: place, seeing: sight, starts)
                },
                if: .holds(isDue),
                cause: decision?.cause
            ),
            asking: Question(),
            at: self.cursor,
            isLimited: false
        ) { self.tried(attempt, $0, seen: version) }
        return true
    }

    private func tried(_ attempt: StayWatch.Attempt, _ answer: Move.Answer, seen version: Int) {
        defer { self.onBoot.take()?() }
        switch answer {
        case .success(.committed):
            self.madeMove()
            if self.watch.ended(attempt) { self.arm() }
        case .success(.unchanged(let place, _)):
            // The time has come and gone, which the state knows.
            if self.snapshot.seq == place.seq { self.passed(place) }
            self.correct(place, self.due(at: place))
            if self.watch.ended(attempt) { self.arm() }
        case .failure(let error):
            switch error.reason {
            case .illegal: self.watch.gaveUp(attempt)
            // The stay has ended, or begun anew.
            case .conflict: if self.watch.ended(attempt) { self.arm(anew: true) }
            case .denied(let deciding):
                self.retry(attempt, after: (deciding, error.motion))
                // What was seen has changed since it was decided.
                if self.sight.version != version { self.linksChanged() }
            case .stale, .notCommitted, .unsure, .overloaded, .wouldWait, .withdrawn:
                self.retry(attempt)
            }
        }
        // Others may have come meanwhile.
        self.wait()
    }

    /// Tries once more after a pause that grows, for as long as the stay lasts.
    private func retry(
        _ attempt: StayWatch.Attempt,
        after denial: (by: [Vote.Denial], of: Motion?)? = nil
    ) {
        guard self.watch.failed(attempt, at: self.now.uptime) else { return }
        self.denials[attempt.deadline.key] = denial
        if denial?.by.areOfLinks == true { self.isDeniedByLinks = true }
    }
}

extension MoveBreaker.Limit {
    /// How many moves suspend a machine's own, on the wire.
    var json: JSONValue {
        ["moves": .integer(self.most), "inMs": .integer(self.time.wholeMicroseconds / 1000)]
    }
}

import Dispatch

/// Holds a state, and is the only source of its changes: the engine of every ``StateMachine``.
///
/// Setting the state numbers the change, appends it to a log under one lock, and wakes the execution
/// contexts that listen; each of them reads the log for itself. No client's code runs under the lock.
/// There are two ways in: at once (``enterAtOnce(_:asking:)``), and in turn
/// (``propose(_:)``).
///
/// Guarded state: all of it is in `Holder`, behind `holder`.
@usableFromInline
package final class Machine: Sendable {
    /// What the lock guards.
    struct Holder: Sendable {
        var audience = Audience()
        var tail: LogEntry
        /// The entry of the change that is about to be made.
        private var prepared: LogEntry?
        /// The former tail, from when a change is made until its caller takes it.
        private var passed: LogEntry?
        var gate: Gate
        /// Where tasks that wait for changes are told.
        private(set) lazy var readers = DispatchQueue(label: "transitions")

        private(set) var place: Place {
            // The only way out: what is entered has an entry, unless nobody reads, and what is replaced has none. It
            // only links, since whatever is built from a state is built before the lock.
            didSet { if let entry = self.prepared.take() { self.passed = self.append(entry) } }
        }

        init(at place: Place, _ gate: Gate) {
            self.tail = LogEntry(.beginning)
            self.gate = gate
            self.place = place
        }

        /// - Returns: the former tail.
        @discardableResult
        mutating func append(_ entry: consuming LogEntry) -> LogEntry {
            entry.deliveryCount?.expect(drains: self.audience.drains.count)
            self.tail.append(entry)
            return exchange(&self.tail, with: entry)
        }

        /// Enters a state, under the lock, by a change from the present one, whose entry `entry` gives if somebody reads.
        ///
        /// - Returns: the former tail. The caller keeps it, and the former state, until the lock is
        ///   released: states may go with them, and that may run a client's code.
        mutating func enter(_ change: Change, _ entry: () -> ChangeEntry) -> LogEntry? {
            if !self.audience.drains.isEmpty { self.prepared = entry() }
            self.place = change.place
            return self.passed.take()
        }

        /// Replaces the state by one that looks the same, without a change.
        ///
        /// The caller keeps the former state until the lock is released.
        mutating func replace(with place: Place) { self.place = place }

        var news: News { News(drains: self.audience.drains, position: self.tail.position) }
    }

    /// What may be chosen when a machine is made; see ``StateMachine/Options``.
    struct Options: Sendable {
        var announcesEqual = false
        var laneLimit: Int?
        var clock: any Clock<Duration> = ContinuousClock()
        var unheard: (@Sendable (Change) -> Void)?
        var unassigned: (@Sendable (Value, Refused) -> Void)?
        var log: (any Recording)?
        /// Whether it is known where the machine is; if not, its log has it adopt that first.
        var isPlaced = true
        var proposalLimit: Int
    }

    let holder: Lock<Holder>
    let options: Options
    /// Whether others move it as well, as the log tells.
    private let isShared: Bool
    let sleepers = Sleepers()

    /// A machine that goes on where another one stopped; nobody is told about it.
    init(resuming place: Place, options: Options) {
        self.options = options
        self.isShared = options.log?.confirms ?? false
        let gate = Gate(
            hasLog: options.log != nil,
            confirming: self.isShared,
            isPlaced: options.isPlaced,
            limit: options.proposalLimit
        )
        self.holder = Lock(Holder(at: place, gate))
    }

    @usableFromInline package var value: Value { self.holder.withLock { $0.place.value } }

    /// Where the tasks that wait for changes are told, all by one drain: a setter wakes only that one, however many
    /// they are.
    var readers: DispatchQueue { self.holder.withLock { $0.readers } }

    /// The state and its place in the order, read together; says nothing unless the machine ``isPlaced``.
    package var place: Place { self.holder.withLock { $0.place } }

    /// Whether it is known where it is: nothing is decided before, and nobody is served.
    package var isPlaced: Bool { self.holder.withLock { $0.gate.isPlaced } }
}

extension Machine {
    /// Calls `done` when all that has been evaluated so far has happened, or has failed to, and its
    /// proposers know.
    ///
    /// So `done` also means that the log has answered whatever it was given before; it is not
    /// called until the log answers. That takes two groups at most. Proposals that wait for voters are not waited for. However many proposals wait, this is not refused, and it takes no room of theirs: a caller
    /// that calls again before `done` must bound that itself. Called from anywhere; calls `done`
    /// straight away on a machine without a write-ahead log, unless it is to be called at a cursor.
    package func afterCommits(
        at cursor: Drain? = nil,
        _ done: @escaping @Sendable () -> Void
    ) {
        // A proposal that nobody wants, and so asks nobody and changes nothing: its answer waits its turn.
        let target = Move.Target.made { (place) throws(Refused) in
            throw Refused(.withdrawn, current: place)
        }
        self.propose(
            Move(to: target),
            asking: nil,
            at: cursor,
            isLimited: false
        ) { _ in done() }
    }

    /// The number of the group that the write-ahead log has been given and has not answered; nil if it has
    /// answered all.
    package var groupUnderWay: UInt64? { self.holder.withLock { $0.gate.groups.underWay } }

    /// Whether there is a write-ahead log.
    package var hasLog: Bool { self.options.log != nil }

    /// The write-ahead log, if there is one.
    package var log: (any Recording)? { self.options.log }
}

/// Past the voters; a thread that assigns waits for the log and for nobody else.
extension Machine {
    /// Enters the move's state without asking a voter; see ``StateMachine/assign(_:ifSeq:reenter:cause:)``.
    func assign(_ move: Move) -> Move.Answer {
        if let answer = self.enterAtOnce(move, asking: nil) { return answer }
        guard
            self.options.log?.isCurrent != true,
            // The gate may have to wait until this thread has delivered.
            !InlineTelling.isHere,
            !self.holder.withLock({ $0.gate.isPumpedHere })
        else { return .failure(Refused(.wouldWait, current: self.place)) }
        let mailbox = Mailbox<Move.Answer>()
        self.propose(move, asking: nil) { mailbox.put($0) }
        return mailbox.wait()
    }

    /// The setter of a state, which cannot throw.
    @usableFromInline
    func assignOrTrap(_ new: Value) {
        let move = Move(to: new)
        guard case .failure(let refused) = self.assign(move) else { return }
        guard refused.reason == .wouldWait else { return self.trapOrReport(new, refused) }
        self.propose(move, asking: nil) { answer in
            if case .failure(let refused) = answer { self.trapOrReport(new, refused) }
        }
    }

    /// Only what its programmer could have known ends the process: not a full disk, nor many setters.
    func trapOrReport(_ new: Value, _ refused: Refused) {
        switch refused.reason {
        case .illegal, .conflict, .denied, .stale, .wouldWait, .withdrawn:
            preconditionFailure("\(new.text) was assigned to a machine that refuses it: \(refused)")
        case .notCommitted, .unsure, .overloaded: self.options.unassigned?(new, refused)
        }
    }
}

extension Machine {
    /// Whom to wake after the lock, when something was appended under it, and the newest entry's
    /// position.
    struct News: Sendable {
        let drains: [Drain]
        let position: UInt64

        /// Counts no references: that would take longer than to find that a drain is awake.
        fileprivate func forEachDrain(_ body: (Drain) -> Void) {
            for index in self.drains.indices {
                Unmanaged.passUnretained(self.drains[index])._withUnsafeGuaranteedRef(body)
            }
        }
    }

    /// The way in that waits for nobody: what became of the move; nil if it has to wait its turn.
    ///
    /// Evaluated, and its entry built, outside the lock, since that runs client code; under the lock it
    /// is committed if nothing has moved meanwhile, and evaluated again if something has.
    ///
    /// - Parameters:
    ///   - move: what is asked for.
    ///   - question: how voters are asked: it happens only if nobody is. Nil: it goes past them, and past the proposals
    ///     that wait.
    /// - Returns: what became of it; nil if it has to wait.
    package func enterAtOnce(_ move: Move, asking question: Question?) -> Move.Answer? {
        guard !self.hasLog else { return nil }
        while true {
            var (hasVoters, version, isFree) = (false, 0, false)
            let base = self.holder.withLock { holder in
                hasVoters = !holder.gate.voters.isEmpty
                version = holder.gate.voters.version
                isFree = holder.gate.isFree
                return holder.place
            }
            guard isFree || question == nil else { return nil }
            let made: Move.Made
            do {
                made = try move.made(from: base, announcingEqual: self.options.announcesEqual)
            } catch {
                return .failure(error)
            }
            let (new, beginsStay): (Value, Bool)
            switch consume made {
            case .enter(let state): (new, beginsStay) = (state, true)
            case .keep(let state): (new, beginsStay) = (state, false)
            case .renew, .pass: return nil
            case .nothing(let why): return .success(.unchanged(base, why))
            }
            if let question, hasVoters || question.denialsWithoutVoters != nil {
                let motion = move.motion(to: new, beginsStay: beginsStay, at: base)
                // One that is forced is told in its turn whom it passes over.
                guard !hasVoters || self.voters(on: motion).isEmpty else { return nil }
                if !move.isForced, let denials = question.denialsWithoutVoters {
                    return .failure(Refused(motion, deniedBy: denials))
                }
            }
            let change = move.change(from: consume base, to: consume new, beginsStay: beginsStay)
            guard let news = self.link(change, ifFreeSince: question == nil ? nil : version) else {
                continue
            }
            self.announce(news)
            return .success(.committed(change))
        }
    }

    /// Appends the change.
    ///
    /// - Parameters:
    ///   - change: to be made. Its entry is held no longer when it is announced: that may take long, and an entry
    ///     keeps all that follow it.
    ///   - version: of the gate, which has to be free since; nil: that does not matter.
    /// - Returns: what to announce; nil if the machine has moved, or the gate is not free.
    private func link(_ change: Change, ifFreeSince version: Int?) -> News? {
        let count = self.deliveryCount(of: change)
        // The former tail, and with it perhaps the former state, is released after the lock: that may run a client's
        // code.
        var before: LogEntry?
        let news = self.holder.withLock { holder -> News? in
            // A recast replaces the state and keeps the seq.
            guard holder.place.seq + 1 == change.seq, holder.place.value === change.old
            else { return nil }
            if let version, !holder.gate.isFree(since: version) { return nil }
            before = holder.enter(change) { ChangeEntry(change, deliveryCount: count) }
            return holder.news
        }
        if let news, news.drains.isEmpty { count?.completeUnheard() }
        withExtendedLifetime(before) {}
        return news
    }

    /// Builds the log entry for what a move makes of a machine at `base`; it is not appended yet.
    func entry(of move: Move, from base: Place, to new: Value, beginsStay: Bool) -> ChangeEntry {
        self.entry(
            of: self.isShared
                // Other hosts' clocks may be ahead.
                ? move.change(from: base, to: new, at: max(.now, base.at), beginsStay: beginsStay)
                : move.change(from: base, to: new, beginsStay: beginsStay)
        )
    }

    /// Builds a change's entry; it is not appended yet.
    func entry(of change: Change) -> ChangeEntry {
        ChangeEntry(change, deliveryCount: self.deliveryCount(of: change))
    }

    /// Reports the change when every drain has passed it and nobody heard it.
    private func deliveryCount(of change: Change) -> DeliveryCount? {
        self.options.unheard.map { unheard in
            DeliveryCount { wasHeard in if !wasHeard { unheard(change) } }
        }
    }

    /// Wakes the drains; those that run inline deliver on this thread, unless another one does so.
    func announce(_ news: News) {
        // Looked at after the append: a drain that falls asleep later sees the entry first.
        guard !self.sleepers.isEmpty else { return }
        var isHeardHere = false
        news.forEachDrain { drain in
            drain.skip(ifTooFarBehind: news.position)
            if drain.isInline { isHeardHere = true } else { drain.wake() }
        }
        guard isHeardHere else { return }
        news.forEachDrain { if $0.isInline { $0.wakeHere(for: news.position) } }
    }
}

import Dispatch
import GRDB
public import StateMachineCore
package import StateMachineProtocol
import Synchronization

/// A machine's past in an SQLite database, which is also its write-ahead log: one row a transition.
///
/// Groups are committed one after the other on a thread of its own; reading happens on another one and
/// keeps no commit waiting. Old rows are removed in small steps between commits.
///
/// `@unchecked Sendable`. `newest`, `declaration`, `troubles`, `tell`, `isPruning`, `pruning`, `spin` and `seen` are
/// touched on `commits` only; `oldestKept` is atomic; the rest does not change.
public final class SQLiteHistory<State: MachineState>: TransitionHistory, @unchecked Sendable {
    /// Where the machine stood when the last run ended; where it begins if there was none.
    public let snapshot: Snapshot<State>

    /// The name of the numbering; see `TransitionHistory`.
    public let epoch: String

    /// What it did not find of its past, so that it or its numbering began anew; nil if all.
    public let loss: HistoryLoss?

    /// How safe it is, and how far it goes back.
    public let options: HistoryOptions

    private let database: HistoryDatabase
    private let longLog: Int
    /// A thread and not a queue: it is woken in half the time, and a lone set waits for that.
    private let commits: NotificationThread
    private let reads: DispatchQueue
    /// Rings once a day; of the wall's clock, so that days in which the machine slept count.
    private let days: any DispatchSourceTimer
    private let coding: StateCoding<State>
    private let oldestKept: Atomic<UInt64>

    /// The newest transition that is in the database; its state begins the next one's row.
    private var newest: (seq: UInt64, state: WrittenState)
    /// What declares the newest state and is in the database, or to be written with the next transition.
    private var declaration: RecordedDeclaration?
    /// The one that is to be written.
    private var unwritten: HistoryDatabase.NewDeclaration?
    /// States that have been written, so that one that comes again is not encoded again.
    private var seen = RememberedStates<State, WrittenState>()
    /// Why work fails that does.
    private var troubles: [HistoryWork: String] = [:]
    private var tell: @Sendable (HistoryWork, String?) -> Void = { _, _ in }
    private var isPruning = false
    private var spin = AdaptiveSpin()
    private var pruning: Pruning

    /// Opens the history in a directory, which is created, for its owner only, if it is not there.
    ///
    /// A database that cannot be read is renamed, and the history begins anew under a new epoch, as it
    /// does where the database is gone; ``loss`` says so. Where the disk takes nothing it opens all the
    /// same, and commits fail until it does.
    ///
    /// - Parameters:
    ///   - directory: nobody else may have a history in it at the same time.
    ///   - options: how safe it is, and how far it goes back.
    /// - Throws: ``HistoryError``.
    public convenience init(
        directory: String,
        options: HistoryOptions = HistoryOptions()
    ) throws where State: EnumState {
        try self.init(directory: directory, coding: StateCoding(), options: options)
    }

    /// The same, for states of that form.
    package convenience init(
        directory: String,
        coding: StateCoding<State>,
        options: HistoryOptions
    ) throws {
        try self.init(
            directory: directory,
            coding: coding,
            options: options,
            boot: BootID.current
        )
    }

    /// The same on a machine that was started under that name, where a day has so many seconds.
    ///
    /// `patience` is the seconds to wait for another program that has the database locked. 2: longer than
    /// any query of a person's, and a set is answered within it. Not tuned.
    ///
    /// `longLog` is the bytes that the write-ahead log may have before that is told. 64 MiB: sixteen times
    /// what it has if nobody else reads for long. Not tuned.
    package init(
        directory path: String,
        coding: StateCoding<State>,
        options: HistoryOptions,
        boot: String?,
        day: Double = 86_400,
        patience: Double = 2,
        longLog: Int = 64 << 20
    ) throws {
        let opening = try HistoryOpening<State>(
            in: path,
            coding: coding,
            options: options,
            boot: boot,
            patience: patience
        )
        self.coding = coding
        self.declaration = coding.declaration
        self.options = options
        self.longLog = longLog
        self.pruning = Pruning(options, newest: opening.newest.at)
        self.database = opening.database
        self.loss = opening.loss
        self.troubles[.commits] = opening.trouble
        self.epoch = opening.epoch
        self.newest = (opening.newest.seq, WrittenState(opening.newest.new))
        self.oldestKept = Atomic(opening.oldest)
        self.commits = NotificationThread(name: "sm-history")
        self.reads = DispatchQueue(label: "statemachine.history.reads")
        self.days = DispatchSource.makeTimerSource(queue: self.reads)
        self.snapshot = Snapshot(
            seq: opening.newest.seq,
            state: opening.state,
            at: opening.newest.at
        )
        self.commits.enqueue { self.prune() }
        self.days.schedule(wallDeadline: .now() + day, repeating: day, leeway: .seconds(60))
        self.days.setEventHandler { [weak self] in self?.look() }
        self.days.activate()
    }

    deinit {
        self.days.cancel()
        self.commits.stop()
    }

    /// A machine that goes on where the last run ended, and keeps its transitions here.
    ///
    /// - Parameter options: the machine's; its log is this history whatever they say.
    /// - Returns: the machine; a history has one.
    public func makeMachine(
        options: StateMachine<State>.Options = StateMachine<State>.Options()
    ) -> StateMachine<State> {
        var options = options
        options.log = self
        return StateMachine(resuming: self.snapshot, options: options)
    }

    // MARK: - The write-ahead log

    /// Whether the calling code runs where groups are committed.
    public var isCurrent: Bool { self.commits.isCurrent ?? false }

    /// Commits the group in one transaction; see `WriteAheadLog`.
    @_specialize(where State == AppState)
    @_specialize(where State == DynamicState)
    public func commit(
        _ group: [Transition<State>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.commits.enqueue {
            let failure = self.append(group)
            self.note(failure)
            self.note(self.database.growth(beyond: self.longLog), of: .tidying)
            done(failure)
            self.prune()
            // Who sets and waits for the answer often has the next one.
            if group.count == 1 { self.commits.linger(&self.spin) }
        }
    }

    private func append(_ group: [Transition<State>]) -> String? {
        var seq = self.newest.seq
        var text = self.newest.state.text
        // What the rows' texts lie in.
        var states = [self.newest.state]
        states.reserveCapacity(group.count + 1)
        func keep(_ state: State) -> WrittenState.Text {
            let written = self.written(state)
            states.append(written)
            return written.text
        }
        let rows = group.map { transition -> HistoryDatabase.NewRow in
            // What was written of the last one is what this one leaves.
            let old = seq + 1 == transition.seq ? text : keep(transition.old)
            (seq, text) = (transition.seq, keep(transition.new))
            return HistoryDatabase.NewRow(
                seq: seq,
                old: old,
                new: text,
                at: transition.at,
                cause: transition.cause,
                by: transition.by
            )
        }
        do {
            let declaration = self.newDeclaration(of: group)
            try withExtendedLifetime(states) {
                try self.database.append(rows, declaring: declaration)
            }
            if let declaration { self.wrote(declaration) }
        } catch {
            return self.database.sentence(for: error)
        }
        self.newest = (seq, states[states.count - 1])
        return nil
    }

    /// What declares the group's states, if that is not in the database.
    private func newDeclaration(of group: [Transition<State>]) -> HistoryDatabase.NewDeclaration? {
        guard let behaviour = self.coding.behaviour, let last = group.last else { return nil }
        let newest = behaviour.declaration(of: last.new)
        guard newest !== self.declaration else { return self.unwritten }
        let first = group.first { behaviour.declaration(of: $0.new) === newest } ?? last
        return (newest, first.seq)
    }

    private func wrote(_ declaration: HistoryDatabase.NewDeclaration) {
        self.declaration = declaration.declaration
        self.unwritten = nil
    }

    /// Writes what declares the states from there on; see `TransitionHistory`.
    public func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.commits.enqueue {
            guard declaration !== self.declaration || self.unwritten != nil else {
                return done(nil)
            }
            do {
                try self.database.note((declaration, seq))
                self.wrote((declaration, seq))
                done(nil)
            } catch {
                self.declaration = declaration
                self.unwritten = (declaration, seq)
                done(self.database.sentence(for: error))
            }
        }
    }

    private func written(_ state: State) -> WrittenState {
        self.seen.form(of: state) { state in
            let written = WrittenState(self.coding.recorded(state))
            return (written, written.text.data.count)
        }
    }

    /// Has everything on the disk; see `TransitionHistory`.
    public func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.commits.enqueue {
            do {
                try self.database.settle(at: .init(epoch: self.epoch, seq: self.newest.seq))
                done(nil)
            } catch {
                done(self.database.sentence(for: error))
            }
        }
    }

    /// Has `handler` told when work begins to fail and when it succeeds again, on the commits' thread.
    public func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    ) {
        self.commits.enqueue {
            self.tell = handler
            for (work, why) in self.troubles { handler(work, why) }
        }
    }

    private func note(_ failure: String?, of work: HistoryWork = .commits) {
        guard self.troubles[work] != failure else { return }
        self.troubles[work] = failure
        self.tell(work, failure)
    }

    // MARK: - The past

    /// The oldest transition that is kept; one past the newest if none is.
    public var oldest: UInt64 { self.oldestKept.load(ordering: .acquiring) }

    /// `keepChanges`, `keepDays` and `durability`.
    public var terms: [(name: String, value: HistoryTerm)] {
        [
            ("keepChanges", .count(self.options.keepChanges)),
            ("keepDays", .count(self.options.keepDays)),
            ("durability", .word(self.options.durability.rawValue)),
        ]
    }

    /// Reads the next few transitions after `seq`; see `TransitionHistory`.
    public func read(
        after seq: UInt64,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    ) {
        self.reads.async {
            do {
                done(.success(try self.database.read(after: seq)))
            } catch {
                done(.failure(HistoryFailure(self.database.sentence(for: error))))
            }
        }
    }

    // MARK: - Pruning

    /// Removes the oldest rows that are too many or too old, a step at a time; the newest one stays.
    ///
    /// What cannot be removed stays, until it is tried again after a commit or on another day.
    private func prune() {
        guard !self.isPruning else { return }
        do {
            guard let end = try self.nextPruning() else { return }
            self.isPruning = true
            self.commits.enqueue {
                self.isPruning = false
                self.prune(before: end)
            }
        } catch {
            self.note(self.database.sentence(for: error), of: .pruning)
        }
    }

    private func prune(before end: UInt64) {
        do {
            try self.database.prune(before: end)
            self.oldestKept.store(end, ordering: .releasing)
            self.note(nil, of: .pruning)
            self.prune()
        } catch {
            self.note(self.database.sentence(for: error), of: .pruning)
        }
    }

    private func nextPruning() throws -> UInt64? {
        let (oldest, newest, now) = (self.oldest, self.newest.seq, WallTime.now)
        switch self.pruning.next(oldest: oldest, newest: newest, now: now) {
        case .nothing: return nil
        case .remove(let end): return end
        case .removeOld(let limit, let time):
            let count = Int(limit - oldest)
            let first = try self.database.first(since: time, from: oldest, count: count)
            return self.pruning.found(first, of: oldest..<limit, newest: newest, now: now)
        }
    }

    /// Looks for old rows on a day without commits too.
    private func look() {
        self.commits.enqueue { [weak self] in
            self?.pruning.look()
            self?.prune()
        }
    }
}

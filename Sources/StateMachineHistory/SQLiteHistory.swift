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
/// `@unchecked Sendable`. `form`, `declaration`, `unwritten`, `troubles`, `tell`, `isPruning`, `pruning` and
/// `spin` are touched on `commits` only; `oldestKept` is atomic; the rest does not change.
public final class SQLiteHistory<State: MachineState>: TransitionHistory, StayHistory,
    RequirementHistory, @unchecked Sendable
{
    /// Where the machine stood when the last run ended; where it begins if there was none.
    public let snapshot: Snapshot<State>

    /// The name of the numbering; see `TransitionHistory`.
    public let epoch: String

    /// What it did not find of its past, so that it or its numbering began anew; nil if all.
    public let loss: HistoryLoss?

    /// The change that opening it has made, since the states look otherwise than in the last run; nil
    /// if it has made none.
    package let carriedOver: RecordedTransition?

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
    /// Since when stays count; nil of a machine that has none.
    package let starts: StayStarts?
    package let isFirstInBoot: Bool
    /// The guards that were required when the last run ended.
    package let requirements: [Requirement]

    /// How transitions are written down.
    private var form: WrittenForm<State>
    /// What declares the newest state and is in the database, or to be written with the next transition.
    private var declaration: RecordedDeclaration?
    /// The one that is to be written.
    private var unwritten: HistoryDatabase.NewDeclaration?
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
        options: HistoryOptions,
        clock: any StayClock = KernelClock()
    ) throws {
        try self.init(
            directory: directory,
            coding: coding,
            options: options,
            boot: BootID.current,
            clock: clock
        )
    }

    /// The same on a machine that was started under that name, where a day has so many seconds.
    ///
    /// `timeout` is the seconds to wait for another program that has the database locked. 2: longer than
    /// any query of a person's, and a set is answered within it. Not tuned.
    ///
    /// `longLog` is the bytes that the write-ahead log may have before that is told. 64 MiB: sixteen times
    /// what it has if nobody else reads for long. Not tuned.
    package init(
        directory path: String,
        coding: StateCoding<State>,
        options: HistoryOptions,
        boot: String?,
        clock: any StayClock = KernelClock(),
        day: Double = 86_400,
        timeout: Double = 2,
        longLog: Int = 64 << 20
    ) throws {
        if let problem = coding.problems.first { throw HistoryError(problem, isLasting: true) }
        let opening = try HistoryOpening<State>(
            in: path,
            coding: coding,
            options: options,
            boot: boot,
            clock: clock,
            timeout: timeout
        )
        self.coding = coding
        self.declaration = coding.declaration
        self.options = options
        self.longLog = longLog
        self.pruning = Pruning(options, newest: opening.newest.at)
        self.database = opening.database
        self.loss = opening.loss
        self.carriedOver = opening.carriedOver
        self.troubles[.commits] = opening.trouble
        self.epoch = opening.epoch
        self.form = WrittenForm(
            coding,
            opening.starts,
            after: opening.newest,
            isStayDue: opening.isFirstInBoot
        )
        self.starts = opening.starts
        self.isFirstInBoot = opening.isFirstInBoot
        self.requirements = opening.requirements
        self.oldestKept = Atomic(opening.oldest)
        self.commits = NotificationThread(name: "sm-history")
        self.reads = DispatchQueue(label: "statemachine.history.reads")
        self.days = DispatchSource.makeTimerSource(queue: self.reads)
        self.snapshot = Snapshot(
            seq: opening.newest.seq,
            state: opening.state,
            at: opening.newest.at,
            stay: opening.newest.stay
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
        let written = self.form.written(group)
        let declaration = self.newDeclaration(of: group)
        do {
            try withExtendedLifetime(written.states) {
                try self.database.append(written.rows, written.stay, declaring: declaration)
            }
        } catch {
            self.starts?.drop(after: self.form.newest.seq)
            return self.database.sentence(for: error)
        }
        if let declaration { self.wrote(declaration) }
        self.form.newest = (group[group.count - 1].seq, written.states[written.states.count - 1])
        if written.stay != nil { self.form.isStayDue = false }
        return nil
    }

    /// Notes since when a stay counts; see `StayHistory`.
    package func keep(
        _ start: StayStart,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.perform(done) { try $0.keep(start) }
    }

    /// Writes down that a guard is required; see `RequirementHistory`.
    package func keep(
        _ requirement: Requirement,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.perform(done) { try $0.keep(requirement) }
    }

    /// Writes down that a guard is required no more; see `RequirementHistory`.
    package func forget(
        _ name: String,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.perform(done) { try $0.forget(requirement: name) }
    }

    /// Does something with the database between commits.
    private func perform(
        _ done: @escaping @Sendable (_ failure: String?) -> Void,
        _ work: @escaping @Sendable (HistoryDatabase) throws -> Void
    ) {
        self.commits.enqueue {
            do {
                try work(self.database)
                done(nil)
            } catch {
                done(self.database.sentence(for: error))
            }
        }
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

    /// Has everything on the disk; see `TransitionHistory`.
    public func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.commits.enqueue {
            do {
                try self.database.settle(at: .init(epoch: self.epoch, seq: self.form.newest.seq))
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
        self.read(done) { try $0.read(after: seq) }
    }

    /// Reads the first few transitions that a query asks for; see `TransitionHistory`.
    public func find(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        self.read(done) { try $0.find(query) }
    }

    /// Reads an outline of the first few transitions between a query's ends; see `TransitionHistory`.
    public func outline(
        _ query: TransitionQuery,
        limit: Int,
        done: @escaping @Sendable (Result<TransitionOutline, HistoryFailure>) -> Void
    ) {
        self.read(done) { try $0.outline(after: query.after, before: query.before, limit: limit) }
    }

    /// Finds the first transition from a time on; see `TransitionHistory`.
    public func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        let oldest = self.oldest
        self.read(done) { try $0.locate(time, from: oldest, to: newest) }
    }

    private func read<Wanted: Sendable>(
        _ done: @escaping @Sendable (Result<Wanted, HistoryFailure>) -> Void,
        _ body: @escaping @Sendable (HistoryDatabase) throws -> Wanted
    ) {
        self.reads.async {
            do {
                done(.success(try body(self.database)))
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
        let (oldest, newest, now) = (self.oldest, self.form.newest.seq, WallTime.now)
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

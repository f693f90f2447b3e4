import Dispatch
public import StateMachineCore
public import StateMachineProtocol

/// A machine's past in an SQLite database, which is also its write-ahead log: one row per
/// transition.
///
/// Groups are committed one after the other on a thread of its own; reading happens on another one and
/// keeps no commit waiting. Old rows are removed in small steps between commits.
///
/// `@unchecked Sendable`: nothing in it changes, and `days` may be cancelled from anywhere.
public final class SQLiteHistory<State: MachineState & Hashable>: TransitionHistory, StayHistory,
    VoterHistory, @unchecked Sendable
{
    /// Where the machine was when the last run ended; its initial state if there was none.
    public let snapshot: Snapshot<State>

    /// The name of the numbering; see `TransitionHistory`.
    public let epoch: String
    package let earlier: [EarlierNumbering]

    /// The part of its past that it did not find, so that it or its numbering began anew; nil if
    /// none.
    public let loss: HistoryLoss?

    /// The change made on opening, since the states look different from those of the last run; nil
    /// if there was none.
    package let carriedOver: RecordedTransition?

    /// How safe it is, and how far it goes back.
    public let options: HistoryOptions

    private let database: HistoryDatabase
    private let commits: HistoryCommits<State>
    private let reads: DispatchQueue
    /// Fires once a day by the wall clock, so that days in which the machine slept count.
    private let days: any DispatchSourceTimer
    /// The starts of stays; nil for a machine that has none.
    package let starts: StayStarts?
    package let isFirstInBoot: Bool
    /// The holds and guards that were there when the last run ended.
    package let voters: [KeptVoter]

    /// Opens the history in a directory, which is created, for its owner only, if it does not
    /// exist.
    ///
    /// A database that cannot be read is renamed, and the history begins anew under a new epoch, as
    /// it does if the database is gone; ``loss`` says so. If the disk accepts no writes it opens
    /// all the same, and commits fail until it does.
    ///
    /// - Parameters:
    ///   - directory: may hold only one history at a time.
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

    /// The same for the boot of that ID, with days of that many seconds.
    ///
    /// `timeout`: how long to wait for another program that has locked the database. 2 s:
    /// longer than any interactive query, and a set is answered within it. Not tuned.
    ///
    /// `longLog`: how many bytes the write-ahead log may have before that is reported. 64 MiB:
    /// sixteen times its length if nobody else reads for long. Not tuned.
    package init(
        directory path: String,
        coding: StateCoding<State>,
        options: HistoryOptions,
        boot: String?,
        clock: any StayClock = KernelClock(),
        day: Double = 86_400,
        timeout: Duration = .seconds(2),
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
        self.options = options
        self.database = opening.database
        self.loss = opening.loss
        self.carriedOver = opening.carriedOver
        self.epoch = opening.epoch
        self.earlier = opening.earlier
        self.starts = opening.starts
        self.isFirstInBoot = opening.isFirstInBoot
        self.voters = opening.voters
        self.commits = HistoryCommits(opening, coding, options, longLog: longLog)
        self.reads = DispatchQueue(label: "statemachine.history.reads")
        self.days = DispatchSource.makeTimerSource(queue: self.reads)
        self.snapshot = Snapshot(
            seq: opening.newest.seq,
            state: opening.state,
            at: opening.newest.at,
            stay: opening.newest.stay
        )
        self.commits.prune()
        self.days.schedule(wallDeadline: .now() + day, repeating: day, leeway: .seconds(60))
        // Weakly: a cancelled timer releases it later, and the database is to be closed when the
        // history goes.
        self.days.setEventHandler { [weak commits] in commits?.pruneToday() }
        self.days.activate()
    }

    deinit {
        self.days.cancel()
    }

    /// A machine that goes on where the last run ended, and keeps its transitions here.
    ///
    /// - Parameter options: the machine's options; its log is always this history.
    /// - Returns: the machine; a history has one.
    public func makeMachine(
        options: StateMachine<State>.Options = StateMachine<State>.Options()
    ) -> StateMachine<State> {
        StateMachine(resuming: self.snapshot, options: self.options(options))
    }

    /// The machine's options with this history as its log.
    package func options(
        _ options: StateMachine<State>.Options = StateMachine<State>.Options()
    ) -> StateMachine<State>.Options {
        var options = options
        options.log = self
        return options
    }

    // MARK: - The write-ahead log

    /// Whether the calling code runs where groups are committed.
    public var isCurrent: Bool { self.commits.isCurrent }

    /// Commits the group in one transaction; see `WriteAheadLog`.
    ///
    /// The only code of the package specialized for certain types: a group's states are looked up
    /// and encoded in generic code, and that is a fiftieth of the cost of a durable set.
    @_specialize(where State == AppState)
    @_specialize(where State == DynamicState)
    public func commit(
        _ group: [Transition<State>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.commits.commit(group, done: done)
    }

    /// Records the start of a stay; see `StayHistory`.
    package func keep(
        _ start: StayStart,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.commits.perform(done) { try $0.keep(start) }
    }

    /// Records holds and guards; see `VoterHistory`.
    package func keep(
        _ changes: [(number: UInt64, voter: KeptVoter?)],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.commits.perform(done) { try $0.keep(changes) }
    }

    /// Writes the declaration of the states from that seq on; see `TransitionHistory`.
    package func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.commits.note(declaration, from: seq, done: done)
    }

    /// Gets everything onto the disk; see `TransitionHistory`.
    package func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.commits.settle(done: done)
    }

    /// Calls `handler` when work begins to fail and when it succeeds again, on the commits' thread.
    package func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    ) {
        self.commits.onTrouble(handler)
    }

    // MARK: - The past

    /// The oldest transition that is kept; one past the newest if there is none.
    package var oldest: UInt64 { self.commits.oldest }

    /// `keepChanges`, `keepDays` and `durability`.
    package var settings: [(name: String, value: HistorySetting)] {
        [
            ("keepChanges", .count(self.options.keepChanges)),
            ("keepDays", .count(self.options.keepDays)),
            ("durability", .word(self.options.durability.rawValue)),
        ]
    }

    /// Reads the next few transitions after `seq`; see `TransitionHistory`.
    package func read(
        after seq: UInt64,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    ) {
        self.read(done) { try $0.read(after: seq) }
    }

    /// Reads the first few transitions that a query asks for; see `TransitionHistory`.
    package func find(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        self.read(done) { try $0.find(query) }
    }

    /// Reads an outline of the first few transitions between a query's ends; see `TransitionHistory`.
    package func outline(
        _ query: TransitionQuery,
        limit: Int,
        done: @escaping @Sendable (Result<TransitionOutline, HistoryFailure>) -> Void
    ) {
        self.read(done) { try $0.outline(after: query.after, before: query.before, limit: limit) }
    }

    /// Finds the first transition from a time on; see `TransitionHistory`.
    package func locate(
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
}

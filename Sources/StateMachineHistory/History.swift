import Dispatch
package import StateMachineCore
package import StateMachineProtocol

/// A machine's past in an SQLite database; see ``SQLiteHistory``.
///
/// `@unchecked Sendable`: nothing in it changes, and `days` may be cancelled from anywhere.
package final class History: TransitionHistory, StayHistory, VoterHistory,
    @unchecked Sendable
{
    /// Where the machine was when the last run ended; its initial state if there was none.
    package let place: Place

    /// The name of the numbering; see `TransitionHistory`.
    package let epoch: String
    package let earlier: [EarlierNumbering]

    /// The part of its past that it did not find, so that it or its numbering began anew; nil if
    /// none.
    package let loss: HistoryLoss?

    /// The change made on opening, since the states look different from those of the last run; nil
    /// if there was none.
    package let carriedOver: RecordedTransition?

    /// How safe it is, and how far it goes back.
    package let options: HistoryOptions

    private let database: HistoryDatabase
    private let commits: HistoryCommits
    private let reads: DispatchQueue
    /// Fires once a day by the wall clock, so that days in which the machine slept count.
    private let days: any DispatchSourceTimer
    /// The starts of stays; nil for a machine that has none.
    package let starts: StayStarts?
    package let isFirstInBoot: Bool
    /// The holds and guards that were there when the last run ended.
    package let voters: [KeptVoter]

    /// Opens it for the boot of that ID, with days of that many seconds.
    ///
    /// `timeout`: how long to wait for another program that has locked the database. 2 s:
    /// longer than any interactive query, and a set is answered within it. Not tuned.
    ///
    /// `longLog`: how many bytes the write-ahead log may have before that is reported. 64 MiB:
    /// sixteen times its length if nobody else reads for long. Not tuned.
    package init(
        directory path: String,
        schema: any Schema,
        options: HistoryOptions,
        boot: String?,
        clock: any StayClock = KernelClock(),
        day: Double = 86_400,
        timeout: Duration = .seconds(2),
        longLog: Int = 64 << 20
    ) throws {
        if let problem = schema.problems.first { throw HistoryError(problem) }
        let opening = try HistoryOpening(
            in: path,
            schema: schema,
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
        self.commits = HistoryCommits(opening, schema, options, longLog: longLog)
        self.reads = DispatchQueue(label: "statemachine.history.reads")
        self.days = DispatchSource.makeTimerSource(queue: self.reads)
        self.place = Place(
            seq: opening.newest.seq,
            value: opening.value,
            at: opening.newest.at,
            stay: opening.newest.stay ?? opening.newest.seq
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

    // MARK: - The write-ahead log

    /// Whether the calling code runs where groups are committed.
    package var isCurrent: Bool { self.commits.isCurrent }

    /// Commits the group in one transaction; see `Recording`.
    package func record(
        _ group: [Change],
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

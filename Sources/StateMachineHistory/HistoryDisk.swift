import CPlatform
import Dispatch
import StateMachineCore
import StateMachineProtocol
import Synchronization

/// The threads of a history, and what they do beside what it is for: old rows are removed in small steps between commits, rows are
/// read, and whoever wants to know is told what fails.
///
/// `@unchecked Sendable`: `newest`, `troubles`, `pruning` and `isPruning` are touched on `thread` only; `oldestKept` is atomic;
/// `days` may be cancelled from anywhere; the rest does not change.
final class HistoryDisk: @unchecked Sendable {
    let database: HistoryDatabase
    let options: HistoryOptions
    /// Where it is written.
    ///
    /// A thread and not a queue: it wakes in half the time, and a lone set waits for that.
    let thread: NotificationThread
    /// Whoever searches takes no time from those who set.
    private let reads: NotificationThread
    /// Fires once a day by the wall clock, so that days in which the machine slept count.
    private let days: any DispatchSourceTimer
    private let longLog: Int
    private let oldestKept: Atomic<UInt64>

    /// The last row.
    private var newest: UInt64
    private var troubles: HistoryTroubles
    private var pruning: Pruning
    private var isPruning = false

    /// - Parameters:
    ///   - database: has begun.
    ///   - oldest: its first row; one past the last if there is none.
    ///   - newest: its last row.
    ///   - newestAt: when that was made.
    ///   - trouble: work that fails already, and why.
    ///   - options: how far it goes back.
    ///   - day: seconds of a day.
    ///   - longLog: how many bytes the write-ahead log may have before that is reported.
    init(
        _ database: HistoryDatabase,
        oldest: UInt64,
        newest: UInt64,
        at newestAt: WallTime,
        trouble: (work: HistoryWork, why: String)?,
        _ options: HistoryOptions,
        day: Double,
        longLog: Int
    ) {
        (self.database, self.options, self.longLog) = (database, options, longLog)
        self.thread = NotificationThread(name: "sm-history")
        self.reads = NotificationThread(name: "sm-reads")
        self.oldestKept = Atomic(oldest)
        self.newest = newest
        self.troubles = HistoryTroubles(trouble)
        self.pruning = Pruning(options, newest: newestAt)
        self.days = DispatchSource.makeTimerSource(
            queue: DispatchQueue(label: "statemachine.history.days")
        )
        self.reads.enqueue { platform_give_way(Self.readersNiceness) }
        self.thread.enqueue { self.pruneNext() }
        self.days.schedule(wallDeadline: .now() + day, repeating: day, leeway: .seconds(60))
        // Weakly: a cancelled timer releases it later, and the database is to be closed when the
        // history goes.
        self.days.setEventHandler { [weak self] in self?.pruneToday() }
        self.days.activate()
    }

    deinit {
        self.days.cancel()
        self.reads.stop()
        self.thread.stop()
    }

    /// How much nicer the thread that reads is than the rest of the process.
    ///
    /// 10: beside a thread that sets it gets a tenth of a processor, and all of one that is idle. Not tuned.
    private static let readersNiceness: CInt = 10

    // MARK: - Writing

    /// Notes that rows were written, and does what is to be done behind them; on `thread`.
    func wrote(newest: UInt64) {
        self.newest = newest
        self.emptyLog()
        self.pruneNext()
    }

    /// Notes that there are other rows than there were; on `thread`.
    func began(oldest: UInt64, newest: UInt64, at time: WallTime) {
        self.newest = newest
        self.oldestKept.store(oldest, ordering: .releasing)
        self.pruning = Pruning(self.options, newest: time)
    }

    /// Keeps the write-ahead log from growing long, where others read.
    ///
    /// It is to be emptied at a quarter of the length that is reported, so that this has failed several times by then.
    private func emptyLog() {
        do {
            try self.database.emptyLog(longerThan: self.longLog / 4)
        } catch {
            // The next commit fails for the same reason, and says it.
        }
        self.troubles.note(self.database.growth(beyond: self.longLog), of: .tidying)
    }

    /// Gets everything onto the disk, and notes that the numbering has come to its newest row.
    func settle(in epoch: Epoch, done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.thread.enqueue {
            do {
                try self.database.settle(at: Cursor(epoch: epoch, seq: self.newest))
                done(nil)
            } catch {
                done(self.database.sentence(for: error))
            }
        }
    }

    /// Runs `body` while nobody reads; on `thread`.
    func alone<Result>(_ body: () throws -> Result) rethrows -> Result {
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        self.reads.enqueue {
            begun.signal()
            ended.wait()
        }
        begun.wait()
        defer { ended.signal() }
        return try body()
    }

    // MARK: - What fails

    /// Records that the work has succeeded (nil) or failed; on `thread`.
    func note(_ failure: String?, of work: HistoryWork) { self.troubles.note(failure, of: work) }

    /// Calls `handler` when work begins to fail and when it succeeds again, on `thread`.
    func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    ) {
        self.thread.enqueue { self.troubles.tell(handler) }
    }

    // MARK: - Pruning

    /// Looks for old rows even on a day without commits.
    private func pruneToday() {
        self.thread.enqueue {
            self.pruning.look()
            self.pruneNext()
        }
    }

    /// What cannot be removed stays, until it is tried again after a commit or on another day.
    private func pruneNext() {
        guard !self.isPruning else { return }
        do {
            let end = try self.pruning.next(
                oldest: self.oldest,
                newest: self.newest,
                size: self.database.size,
                now: .now,
                firstSince: self.database.first(since:in:)
            )
            guard let end else { return }
            self.isPruning = true
            self.thread.enqueue {
                self.isPruning = false
                self.prune(before: end)
            }
        } catch {
            self.troubles.note(self.database.sentence(for: error), of: .pruning)
        }
    }

    private func prune(before end: UInt64) {
        // The rows may be others by now.
        guard end > self.oldest, end <= self.newest else { return }
        do {
            let oldest = try self.database.prune(before: end)
            self.oldestKept.store(oldest, ordering: .releasing)
            self.troubles.note(nil, of: .pruning)
            self.pruneNext()
        } catch {
            self.troubles.note(self.database.sentence(for: error), of: .pruning)
        }
    }

    // MARK: - Reading

    /// The oldest transition that is kept; one past the newest if there is none.
    var oldest: UInt64 { self.oldestKept.load(ordering: .acquiring) }

    /// `keepChanges`, `keepDays`, `keepBytes` and `durability`.
    var settings: [JSONMember] {
        [
            JSONMember("keepChanges", .integer(self.options.keepChanges)),
            JSONMember("keepDays", .integer(self.options.keepDays)),
            JSONMember("keepBytes", .integer(self.options.keepBytes)),
            JSONMember("durability", .string(self.options.durability.rawValue)),
        ]
    }

    /// See `PastReading`.
    func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        self.read(done) { try $0.read(query) }
    }

    /// See `PastReading`.
    func locate(
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
        self.reads.enqueue {
            do {
                done(.success(try body(self.database)))
            } catch {
                done(.failure(HistoryFailure(self.database.sentence(for: error))))
            }
        }
    }
}

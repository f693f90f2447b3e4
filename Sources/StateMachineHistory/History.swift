import CPlatform
import Dispatch
package import StateMachineCore
package import StateMachineProtocol
import Synchronization

/// A machine's past in an SQLite database; see ``SQLiteHistory``.
///
/// It is written on one thread, where groups are committed one after the other and old rows are
/// removed in small steps in between, and read on another, which gives way to it.
///
/// `@unchecked Sendable`: `writer`, `troubles`, `pruning`, `isPruning` and `spin` are touched on
/// `thread` only; `oldestKept` is atomic; `days` may be cancelled from anywhere; the rest does not
/// change.
package final class History: Recording, PastStore, @unchecked Sendable {
    /// How safe it is, and how far it goes back.
    package let options: HistoryOptions

    private let opening: HistoryOpening
    private var database: HistoryDatabase { self.opening.database }
    private let longLog: Int
    /// A thread and not a queue: it wakes in half the time, and a lone set waits for that.
    private let thread: NotificationThread
    /// Whoever searches takes no time from those who set.
    private let reads: NotificationThread
    /// Fires once a day by the wall clock, so that days in which the machine slept count.
    private let days: any DispatchSourceTimer
    private let oldestKept: Atomic<UInt64>

    private var writer: HistoryWriter
    private var troubles: HistoryTroubles
    private var pruning: Pruning
    private var isPruning = false
    private var spin = AdaptiveSpin()

    /// Opens it for the boot of that ID, with days of that many seconds.
    ///
    /// `timeout`: how long to wait for another program that has locked the database. 2 s:
    /// longer than any interactive query, and a set is answered within it. Not tuned.
    ///
    /// `longLog`: how many bytes the write-ahead log may have before that is reported. 64 MiB:
    /// sixteen times its length if nobody else reads for long. Not tuned.
    package init(
        directory path: String,
        schema: Schema,
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
        self.opening = opening
        // Only now: nobody would stop the threads of a history that could not be opened.
        self.thread = NotificationThread(name: "sm-history")
        self.reads = NotificationThread(name: "sm-reads")
        self.longLog = longLog
        self.oldestKept = Atomic(opening.oldest)
        self.writer = HistoryWriter(opening, schema)
        self.troubles = HistoryTroubles(ofCommits: opening.trouble)
        self.pruning = Pruning(options, newest: opening.newest.at)
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

    // MARK: - The last run

    /// Where the machine was when the last run ended; its initial state if there was none.
    package var place: Place {
        let newest = self.opening.newest
        return Place(
            seq: newest.seq,
            value: self.opening.value,
            at: newest.at,
            stay: newest.stay ?? newest.seq
        )
    }

    /// The name of the numbering; see `PastStore`.
    package var epoch: Epoch { self.opening.epoch }
    package var earlier: [Cursor] { self.opening.earlier }

    /// What the last run left.
    package var beginning: Beginning {
        Beginning(
            newest: self.opening.newest,
            starts: self.opening.starts,
            links: self.opening.links,
            isFirstInBoot: self.opening.isFirstInBoot,
            voters: self.opening.voters
        )
    }

    /// The part of its past that it did not find, so that it or its numbering began anew; nil if
    /// none.
    package var loss: HistoryLoss? { self.opening.loss }

    /// The change made on opening, since the states look different from those of the last run; nil
    /// if there was none.
    package var carriedOver: RecordedTransition? { self.opening.carriedOver }

    // MARK: - The write-ahead log

    /// Whether the calling code runs where groups are committed.
    package var isCurrent: Bool { self.thread.isCurrent ?? false }

    /// Nobody else moves the machine.
    package var confirms: Bool { false }

    /// Commits the group in one transaction; see `Recording`.
    package func record(_ group: [Record], done: @escaping @Sendable (Recorded) -> Void) {
        self.thread.enqueue {
            let outcome = self.writer.append(group)
            self.troubles.note(outcome.failure, of: .commits)
            done(outcome)
            self.emptyLog()
            self.pruneNext()
            // A client that waits for the answer to a single set often sends the next one.
            if group.count == 1 { self.thread.linger(&self.spin) }
        }
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

    /// Gets everything onto the disk; see `Recording`.
    package func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.perform(done) { try $0.settle(at: .init(epoch: self.epoch, seq: self.writer.newest)) }
    }

    /// Does something with the database between commits.
    private func perform(
        _ done: @escaping @Sendable (_ failure: String?) -> Void,
        _ work: @escaping @Sendable (HistoryDatabase) throws -> Void
    ) {
        self.thread.enqueue {
            do {
                try work(self.database)
                done(nil)
            } catch {
                done(self.database.sentence(for: error))
            }
        }
    }

    /// Calls `handler` when work begins to fail and when it succeeds again, on the commits' thread.
    package func onTrouble(
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
            let newest = self.writer.newest
            let end = try self.pruning.next(
                oldest: self.oldest,
                newest: newest,
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
        do {
            let oldest = try self.database.prune(before: end)
            self.oldestKept.store(oldest, ordering: .releasing)
            self.troubles.note(nil, of: .pruning)
            self.pruneNext()
        } catch {
            self.troubles.note(self.database.sentence(for: error), of: .pruning)
        }
    }

    // MARK: - The past

    /// The oldest transition that is kept; one past the newest if there is none.
    package var oldest: UInt64 { self.oldestKept.load(ordering: .acquiring) }

    /// `keepChanges`, `keepDays`, `keepBytes` and `durability`.
    package var settings: [JSONMember] {
        [
            JSONMember("keepChanges", .integer(self.options.keepChanges)),
            JSONMember("keepDays", .integer(self.options.keepDays)),
            JSONMember("keepBytes", .integer(self.options.keepBytes)),
            JSONMember("durability", .string(self.options.durability.rawValue)),
        ]
    }

    /// Reads the first few transitions that a query asks for; see `PastStore`.
    package func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        self.read(done) { try $0.read(query) }
    }

    /// Finds the first transition from a time on; see `PastStore`.
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
        self.reads.enqueue {
            do {
                done(.success(try body(self.database)))
            } catch {
                done(.failure(HistoryFailure(self.database.sentence(for: error))))
            }
        }
    }
}

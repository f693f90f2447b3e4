import StateMachineCore
import StateMachineProtocol
import Synchronization

/// The work of a history on the thread where groups are committed: it commits them one after the
/// other, and removes old rows in small steps in between.
///
/// `@unchecked Sendable`: `writer`, `troubles`, `pruning`, `isPruning` and `spin` are touched on
/// `thread` only; `oldestKept` is atomic; the rest does not change.
final class HistoryCommits: @unchecked Sendable {
    private let database: HistoryDatabase
    private let epoch: String
    private let longLog: Int
    /// A thread and not a queue: it wakes in half the time, and a lone set waits for that.
    private let thread = NotificationThread(name: "sm-history")
    private let oldestKept: Atomic<UInt64>

    private var writer: HistoryWriter
    private var troubles: HistoryTroubles
    private var pruning: Pruning
    private var isPruning = false
    private var spin = AdaptiveSpin()

    /// `longLog`: how many bytes the write-ahead log may have before that is reported.
    init(
        _ opening: HistoryOpening,
        _ schema: any Schema,
        _ options: HistoryOptions,
        longLog: Int
    ) {
        self.database = opening.database
        self.epoch = opening.epoch
        self.longLog = longLog
        self.oldestKept = Atomic(opening.oldest)
        self.writer = HistoryWriter(opening, schema)
        self.troubles = HistoryTroubles(ofCommits: opening.trouble)
        self.pruning = Pruning(options, newest: opening.newest.at)
    }

    deinit {
        self.thread.stop()
    }

    /// Whether the calling code runs on that thread.
    var isCurrent: Bool { self.thread.isCurrent ?? false }

    /// The oldest transition that is kept; one past the newest if there is none.
    var oldest: UInt64 { self.oldestKept.load(ordering: .acquiring) }

    /// Commits the group in one transaction, then calls `done` with nil or why it failed.
    func commit(
        _ group: [Change],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.thread.enqueue {
            let failure = self.writer.append(group)
            self.troubles.note(failure, of: .commits)
            self.troubles.note(self.database.growth(beyond: self.longLog), of: .tidying)
            done(failure)
            self.pruneNext()
            // A client that waits for the answer to a single set often sends the next one.
            if group.count == 1 { self.thread.linger(&self.spin) }
        }
    }

    /// Writes the declaration of the states from `seq` on.
    func note(
        _ declaration: RecordedDeclaration,
        from seq: UInt64,
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.thread.enqueue { done(self.writer.note(declaration, from: seq)) }
    }

    /// Gets everything onto the disk.
    func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.perform(done) {
            try $0.settle(at: .init(epoch: self.epoch, seq: self.writer.newest))
        }
    }

    /// Does something with the database between commits.
    func perform(
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

    /// Calls `handler`, on the thread, when work begins to fail and when it succeeds again.
    func onTrouble(_ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void) {
        self.thread.enqueue { self.troubles.tell(handler) }
    }

    // MARK: - Pruning

    /// Removes the oldest rows that exceed the limits, a step at a time; the newest one stays.
    func prune() { self.thread.enqueue { self.pruneNext() } }

    /// Looks for old rows even on a day without commits.
    func pruneToday() {
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
            let end = try self.pruning.next(in: self.database, from: self.oldest, to: newest)
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
}

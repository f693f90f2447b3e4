import Dispatch
import GRDB
public import StateMachineCore
import StateMachineWire
import Synchronization

/// A machine's past in an SQLite database, which is also its write-ahead log: one row a transition.
///
/// Groups are committed one after the other on a queue of its own; reading happens on another one and
/// keeps no commit waiting. Old rows are removed in small steps between commits.
///
/// `@unchecked Sendable`. `trouble`, `tell` and `pruned` are touched on `commits` only; what is atomic
/// says so; the rest does not change.
public final class SQLiteHistory<State: MachineState>: TransitionHistory, @unchecked Sendable {
    /// Where the machine stood when the last run ended; where it begins if there was none.
    public let snapshot: Snapshot<State>

    public let epoch: String

    /// What was found unreadable and moved there; nil if nothing was.
    public let setAside: String?

    public let options: HistoryOptions

    private let directory: StateDirectory
    private let database: HistoryDatabase
    private let commits = DispatchQueue(label: "statemachine.history.commits")
    private let reads = DispatchQueue(label: "statemachine.history.reads")
    private let currentQueue = DispatchSpecificKey<Bool>()
    private let coding = StateCoding<State>()
    private let oldestKept: Atomic<UInt64>

    /// The newest transition as it is in the database; its state begins the next one's row.
    private var newest: RecordedTransition
    private var trouble: String?
    private var tell: @Sendable (String?) -> Void = { _ in }
    private var isPruning = false
    private var lookedAtDays: WallTime?

    /// Opens the history in a directory, which is created, for its owner only, if it is not there.
    ///
    /// A database that cannot be read is renamed, and the history begins anew under a new epoch.
    ///
    /// - Parameters:
    ///   - directory: nobody else may have a history in it at the same time.
    ///   - options: how safe it is, and how far it goes back.
    /// - Throws: ``HistoryError``.
    public convenience init(directory: String, options: HistoryOptions = HistoryOptions()) throws {
        try self.init(directory: directory, options: options, boot: BootID.current)
    }

    init(directory path: String, options: HistoryOptions, boot: String?) throws {
        let coding = self.coding
        let directory = try StateDirectory(path)
        let newEpoch = Epoch.random().description
        let initial = RecordedTransition(
            seq: 0,
            old: nil,
            new: coding.recorded(.initial),
            at: .now
        )
        func open() throws -> (HistoryDatabase, HistoryDatabase.Past) {
            let database = try HistoryDatabase(
                path: directory.database,
                durability: options.durability,
                boot: boot
            )
            return (database, try database.open(initial: initial, newEpoch: newEpoch))
        }
        var setAside: String?
        let database: HistoryDatabase
        var past: HistoryDatabase.Past
        do {
            (database, past) = try open()
        } catch let error as DatabaseError where error.isCorruption {
            setAside = try directory.setDatabaseAside(at: WallTime.now.fileName)
            (database, past) = try open()
        } catch let error as DatabaseError {
            throw HistoryError("cannot use \(directory.database): \(error.sentence)")
        }
        let state = try coding.state(of: past.newest, in: directory.database)
        let recorded = coding.recorded(state)
        if recorded != past.newest.new {
            // The program writes this state in another form than the one before it did: the same seq
            // would mean other bytes.
            let newest = past.newest.with(recorded)
            try database.replaceNewest(with: newest, epoch: newEpoch)
            past = HistoryDatabase.Past(epoch: newEpoch, newest: newest, oldest: past.oldest)
        }
        self.options = options
        self.directory = directory
        self.database = database
        self.setAside = setAside
        self.epoch = past.epoch
        self.newest = past.newest
        self.oldestKept = Atomic(past.oldest)
        self.snapshot = Snapshot(seq: past.newest.seq, state: state, at: past.newest.at)
        self.commits.setSpecific(key: self.currentQueue, value: true)
        self.commits.async { self.prune() }
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

    public var isCurrent: Bool { DispatchQueue.getSpecific(key: self.currentQueue) ?? false }

    public func commit(
        _ group: [Transition<State>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.commits.async {
            let failure = self.append(group)
            self.note(failure)
            done(failure)
            self.prune()
        }
    }

    private func append(_ group: [Transition<State>]) -> String? {
        var newest = self.newest
        let records = group.map { transition -> RecordedTransition in
            newest = RecordedTransition(
                seq: transition.seq,
                // What was written of the last one is what this one leaves.
                old: newest.seq + 1 == transition.seq
                    ? newest.new : self.coding.recorded(transition.old),
                new: self.coding.recorded(transition.new),
                at: transition.at,
                cause: transition.cause,
                by: transition.by
            )
            return newest
        }
        do {
            try self.database.append(records)
        } catch {
            return self.database.sentence(for: error)
        }
        self.newest = newest
        return nil
    }

    public func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.commits.async {
            do {
                try self.database.settle()
                done(nil)
            } catch {
                done(self.database.sentence(for: error))
            }
        }
    }

    public func onTrouble(_ handler: @escaping @Sendable (_ why: String?) -> Void) {
        self.commits.async { self.tell = handler }
    }

    private func note(_ failure: String?) {
        guard self.trouble != failure else { return }
        self.trouble = failure
        self.tell(failure)
    }

    // MARK: - The past

    public var oldest: UInt64 { self.oldestKept.load(ordering: .acquiring) }

    public var terms: [(name: String, value: HistoryTerm)] {
        [
            ("keepChanges", .count(self.options.keepChanges)),
            ("keepDays", .count(self.options.keepDays)),
            ("durability", .word(self.options.durability.rawValue)),
        ]
    }

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

    /// Rows removed at a time, between two commits.
    ///
    /// 1024: as many as the gate commits at a time, so that pruning keeps up. Not tuned.
    private static var pruningStep: Int { 1024 }

    /// Removes the oldest rows that are too many or too old, a step at a time; the newest one stays.
    private func prune() {
        guard !self.isPruning, let end = self.nextPruning else { return }
        self.isPruning = true
        self.commits.async {
            self.isPruning = false
            do {
                try self.database.prune(before: end)
                self.oldestKept.store(end, ordering: .releasing)
                self.prune()
            } catch {
                // What is too old can stay; the next commit comes here again, and says what is wrong.
            }
        }
    }

    /// Before which seq the next step removes; nil if there is nothing to do.
    private var nextPruning: UInt64? {
        let (oldest, newest) = (self.oldest, self.newest.seq)
        guard oldest < newest else { return nil }
        let limit = min(newest, oldest + UInt64(Self.pruningStep))
        let keep = UInt64(self.options.keepChanges)
        // A hundredth more than is to be kept, so that not every commit has a row to remove.
        let slack = min(keep / 100, UInt64(Self.pruningStep))
        if newest - oldest + 1 > keep + slack { return min(limit, newest + 1 - keep) }
        return self.isTimeForDays ? self.firstYoungEnough(from: oldest, limit) : nil
    }

    /// Once an hour is enough for a limit in days.
    private var isTimeForDays: Bool {
        guard let lookedAtDays else { return true }
        return abs(WallTime.now.microseconds - lookedAtDays.microseconds) >= 3_600_000_000
    }

    private func firstYoungEnough(from oldest: UInt64, _ limit: UInt64) -> UInt64? {
        let now = WallTime.now
        let age = Int64(self.options.keepDays) * 86_400_000_000
        do {
            let first = try self.database.first(
                since: WallTime(microseconds: now.microseconds - age),
                from: oldest,
                count: Int(limit - oldest)
            )
            if first == oldest || limit == self.newest.seq { self.lookedAtDays = now }
            return first > oldest ? first : nil
        } catch {
            // As above.
            self.lookedAtDays = now
            return nil
        }
    }
}

extension RecordedTransition {
    fileprivate func with(_ new: State) -> RecordedTransition {
        RecordedTransition(
            seq: self.seq,
            old: self.old,
            new: new,
            at: self.at,
            cause: self.cause,
            by: self.by
        )
    }
}

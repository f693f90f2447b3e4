package import StateMachineCore
package import StateMachineProtocol
import StateMachineSQLite

/// What a host keeps of a machine that several share, in an SQLite database.
///
/// It is written on one thread, behind what the engine has committed, and read on another. What the disk does not take waits, as far as
/// there is room, and is tried again with what comes next.
///
/// `@unchecked Sendable`: `sharing`, `noted`, `backlog`, `epoch`, `isBegun` and `tell` are touched on the disk's thread only; `reach` is behind its lock; the rest
/// does not change.
package final class SharedHistory: SharedCache, @unchecked Sendable {
    /// What the disk has yet to take.
    private struct Backlog {
        /// Changes that wait at most.
        ///
        /// 4096: as many as a ring has by default. Without them the cache begins anew behind them.
        static let limit = 4096

        /// Where it is to begin anew first.
        var beginning: SharedPosition?
        var changes: [RecordedTransition] = []
        /// Those of the present stay; nil: the disk has them.
        var times: StayTimes?

        /// The last one, once all of it is written; nil if nothing waits.
        var newest: UInt64? { self.changes.last?.seq ?? self.beginning?.newest.seq }
    }

    /// What of it can be read.
    private struct Reach {
        /// One past the newest change that is on the disk.
        var end: UInt64
        /// How often it is to begin anew of which its thread does not know yet.
        var awaited = 0
        /// Whether it has begun anew where it was to: until then, what is there is not of the present numbering, or there is a gap
        /// behind it.
        var isBegun = true
    }

    private let opening: SharedOpening
    private let schema: Schema
    private let disk: HistoryDisk
    private let reach: Lock<Reach>

    private var sharing: KeptSharing
    /// What of that is on the disk.
    private var noted: KeptSharing
    private var backlog = Backlog()
    private var epoch: Epoch?
    /// Whether the database has changes, which it cannot begin anew with.
    private var isBegun: Bool
    private var tell: @Sendable (_ file: String) -> Void = { _ in }

    /// Opens it for the boot of that ID; see `History` for the rest.
    ///
    /// A database that cannot be read, and one of a machine that was this host's alone, is renamed, and another one begins; ``aside``
    /// says so.
    package init(
        directory path: String,
        schema: Schema,
        options: HistoryOptions,
        boot: String?,
        day: Double = 86_400,
        timeout: Duration = .seconds(2),
        longLog: Int = 64 << 20
    ) throws {
        if let problem = schema.problems.first { throw HistoryError(problem) }
        let opening = try SharedOpening(
            in: path,
            schema: schema,
            options: options,
            boot: boot,
            timeout: timeout
        )
        (self.opening, self.schema) = (opening, schema)
        let newest = opening.left?.newest
        let end = newest.map { $0.seq + 1 } ?? opening.oldest
        self.reach = Lock(Reach(end: end))
        (self.sharing, self.noted) = (opening.sharing, opening.sharing)
        (self.epoch, self.isBegun) = (opening.left?.epoch, opening.left != nil)
        self.disk = HistoryDisk(
            opening.database,
            oldest: opening.oldest,
            newest: end - 1,
            at: newest?.at ?? .now,
            trouble: opening.trouble.map { (.caching, $0) },
            options,
            day: day,
            longLog: longLog
        )
    }

    /// A database that was renamed on opening, and whether it was damaged or another machine's; nil if none.
    package var aside: (file: String, isDamaged: Bool)? {
        self.opening.aside.map { ($0.file, $0.flaw == .corrupt) }
    }

    // MARK: - The last run

    package var instance: String { self.opening.sharing.instance }
    package var leases: [Int64] { self.opening.sharing.leases }
    package var left: SharedPosition? { self.opening.left }

    // MARK: - Writing

    package func remember(
        leases: [Int64],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.disk.thread.enqueue {
            self.sharing.leases = leases
            done(self.write(isDurable: true))
        }
    }

    package func begin(at position: SharedPosition) {
        self.reach.withLock { $0.awaited += 1 }
        self.disk.thread.enqueue {
            self.beginAnew(at: position)
            self.reach.withLock { $0.awaited -= 1 }
        }
    }

    package func append(
        _ changes: [RecordedTransition],
        knowing engine: KnownEngine,
        _ times: StayTimes?
    ) {
        self.disk.thread.enqueue {
            self.sharing.engine = engine
            self.backlog.times = times ?? self.backlog.times
            let newest = self.backlog.newest ?? self.reach.withLock { $0.end - 1 }
            let news = changes.drop { $0.seq <= newest }
            self.backlog.changes += news
            let isGap = news.first.map { $0.seq > newest + 1 } ?? false
            if isGap { self.skip() }
            self.write()
        }
    }

    package func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.disk.thread.enqueue {
            if let failure = self.write() { return done(failure) }
            guard let epoch = self.epoch else { return done(nil) }
            self.disk.settle(in: epoch, done: done)
        }
    }

    private func beginAnew(at position: SharedPosition) {
        self.reach.withLock { $0.isBegun = false }
        self.backlog = Backlog(beginning: position)
        self.epoch = position.epoch
        (self.sharing.engine, self.sharing.begun) = (position.engine, position.newest.seq)
        self.write()
    }

    /// Forgets what waits: the cache begins anew behind it.
    private func skip() {
        guard let newest = self.backlog.changes.last, let epoch = self.epoch,
            let engine = self.sharing.engine
        else { return }
        let position = SharedPosition(newest, in: epoch, knowing: engine, self.backlog.times)
        self.beginAnew(at: position)
    }

    /// Writes what waits, as far as the disk takes it; with `isDurable`, it is on the disk when this returns.
    ///
    /// - Returns: why it does not take it; nil if it has.
    @discardableResult private func write(isDurable: Bool = false) -> String? {
        let failure = self.failure {
            try self.writeBeginning()
            try self.writeChanges(isDurable: isDurable)
        }
        self.disk.note(failure, of: .caching)
        if self.backlog.changes.count > Backlog.limit { self.skip() }
        return failure
    }

    private func writeBeginning() throws {
        guard let position = self.backlog.beginning else { return }
        if self.isBegun {
            let file = try self.disk.alone { try self.disk.database.setAside() }
            self.isBegun = false
            self.tell(file)
        }
        try self.disk.database.begin(at: position, declaredBy: self.schema, noting: self.sharing)
        self.isBegun = true
        self.noted = self.sharing
        self.backlog.beginning = nil
        let newest = position.newest
        self.disk.began(oldest: newest.seq + 1, newest: newest.seq, at: newest.at)
        self.reach.withLock { ($0.end, $0.isBegun) = (newest.seq + 1, true) }
    }

    private func writeChanges(isDurable: Bool) throws {
        let changes = self.backlog.changes
        let times = self.backlog.times
        guard !changes.isEmpty || times != nil || self.sharing != self.noted else { return }
        try self.disk.database.write(isDurable: isDurable) { db in
            for change in changes { try self.disk.database.insert(change, db) }
            if self.schema.hasStays, let times { try self.disk.database.note(times, db) }
            try self.disk.database.note(self.sharing, db)
        }
        self.noted = self.sharing
        (self.backlog.changes, self.backlog.times) = ([], nil)
        guard let newest = changes.last?.seq else { return }
        self.disk.wrote(newest: newest)
        self.reach.withLock { $0.end = newest + 1 }
    }

    /// Why `body` could not be done; nil if it was.
    private func failure(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return self.disk.database.sentence(for: error)
        }
    }

    package func onTrouble(
        _ handler: @escaping @Sendable (_ work: HistoryWork, _ why: String?) -> Void
    ) {
        self.disk.onTrouble(handler)
    }

    package func onSettingAside(_ handler: @escaping @Sendable (_ file: String) -> Void) {
        self.disk.thread.enqueue { self.tell = handler }
    }

    // MARK: - Reading

    package var kept: Range<UInt64> {
        let oldest = self.disk.oldest
        return self.reach.withLock { reach in
            let isThere = reach.awaited == 0 && reach.isBegun && oldest < reach.end
            return isThere ? oldest..<reach.end : 0..<0
        }
    }

    package var settings: [JSONMember] { self.disk.settings }

    package func read(
        _ query: TransitionQuery,
        done: @escaping @Sendable (Result<TransitionFinding, HistoryFailure>) -> Void
    ) {
        self.disk.read(query, done: done)
    }

    package func locate(
        _ time: WallTime,
        upTo newest: UInt64,
        done: @escaping @Sendable (Result<UInt64, HistoryFailure>) -> Void
    ) {
        self.disk.locate(time, upTo: newest, done: done)
    }
}

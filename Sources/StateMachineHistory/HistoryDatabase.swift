import GRDB
import StateMachineCore
import StateMachineProtocol
import Synchronization

/// The database: one writer, whose calls come one after the other, and one reader beside it.
///
/// It is opened by the first call that can: a full disk must not keep the daemon from starting, so
/// that clients can ask for the machine's state.
///
/// `@unchecked Sendable`: `isSettled`, `isSynchronous` and `beginning` are touched by the writing
/// calls only, all of which are made on one queue; `opened` is guarded by its lock, and `found` is
/// atomic.
final class HistoryDatabase: @unchecked Sendable {
    let directory: StateDirectory
    /// Whether the machine has stays.
    let hasStays: Bool
    private let durability: HistoryOptions.Durability
    let boot: String?
    /// How many seconds to wait for another program that has locked the database.
    let timeout: Double
    private let opened = Lock<DatabasePool?>(nil)
    private let found = Atomic(Schema.Extent.changes.rawValue)
    let logLength = LogLength()
    /// SQLite's own size for a new database.
    let pageBytes = 4096
    private var isSettled = true
    private var isSynchronous: Bool?
    /// The state this run starts from, until it is written.
    private var beginning: Beginning?

    var path: String { self.directory.database }

    /// What the tables contain: everything once they are of this version.
    var extent: Schema.Extent {
        Schema.Extent(rawValue: self.found.load(ordering: .acquiring)) ?? .changes
    }

    init(
        in directory: StateDirectory,
        hasStays: Bool,
        durability: HistoryOptions.Durability,
        boot: String?,
        timeout: Double
    ) {
        self.directory = directory
        self.hasStays = hasStays
        self.durability = durability
        self.boot = boot
        self.timeout = timeout
    }

    var pool: DatabasePool {
        get throws {
            try self.opened.withLock { opened in
                if let opened { return opened }
                try self.directory.closeFiles()
                var configuration = Configuration()
                configuration.maximumReaderCount = 1
                configuration.busyMode = .timeout(self.timeout)
                configuration.label = "statemachine.history"
                let pool = try DatabasePool(path: self.path, configuration: configuration)
                try pool.writeWithoutTransaction { db in
                    try db.execute(sql: "PRAGMA journal_size_limit = \(Self.keptLog)")
                    self.logLength.watch(db)
                }
                opened = pool
                return pool
            }
        }
    }

    // MARK: - Beginning

    /// Reads where the last run ended.
    ///
    /// - Throws: ``HistoryError``, or SQLite's error.
    func past() throws -> Past {
        do {
            return try self.pool.read { try self.past($0) }
        } catch let error as DatabaseError where error.isOfTheDisk {
            return try self.readAlone { try self.past($0) }
        }
    }

    private func past(_ db: Database) throws -> Past {
        guard try !Schema.migrator.hasBeenSuperseded(db) else {
            throw HistoryError(
                "\(self.path) was written by a newer version of this program; "
                    + "start that one, or move the file away to begin anew"
            )
        }
        self.found.store(try Schema.Extent.of(db).rawValue, ordering: .releasing)
        guard try db.tableExists("change"), let newest = try self.newest(db) else {
            return Past(
                epoch: nil,
                isWhole: true,
                newest: nil,
                oldest: nil,
                declaration: nil,
                boot: nil,
                stay: nil,
                requirements: try self.requirements(db)
            )
        }
        let oldest = try UInt64.fetchOne(db, sql: "SELECT min(seq) FROM change WHERE seq > 0")
        let (epoch, isWhole, boot) = try self.numbering(db)
        return Past(
            epoch: epoch,
            isWhole: isWhole,
            newest: newest,
            oldest: oldest,
            declaration: try self.lastDeclaration(db),
            boot: boot,
            stay: self.extent >= .stays ? try NotedStay.read(db) : nil,
            requirements: try self.requirements(db)
        )
    }

    /// Reads without the files that connections share, for which there may be no room.
    private func readAlone<Result>(_ body: (Database) throws -> Result) throws -> Result {
        var configuration = Configuration()
        // The write-ahead log's index is then kept in memory: sqlite.org/wal.html, 8.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
        return try DatabaseQueue(path: self.path, configuration: configuration).read(body)
    }

    /// The numbering of the last run, whether its end cannot have been lost, and the boot.
    private func numbering(
        _ db: Database
    ) throws -> (epoch: String?, isWhole: Bool, boot: String?) {
        let sql = "SELECT epoch, boot, durability, settled FROM meta WHERE id = 1"
        guard let meta = try Row.fetchOne(db, sql: sql) else { return (nil, true, nil) }
        let boot: String? = meta["boot"]
        let durability: String = meta["durability"]
        let isWhole =
            meta["settled"] || durability == HistoryOptions.Durability.disk.rawValue
            || (boot != nil && boot == self.boot)
        return (meta["epoch"], isWhole, boot)
    }

    /// Brings the schema up to date and records what this run starts from: now or, if that fails,
    /// before anything else is written.
    ///
    /// Until then the next run finds what this one has found.
    ///
    /// - Throws: SQLite's error; then it is tried again later.
    func begin(with beginning: Beginning) throws {
        self.beginning = beginning
        try self.writeBeginning()
    }

    private func writeBeginning() throws {
        guard let beginning = self.beginning else { return }
        let (newest, epoch) = (beginning.newest, beginning.epoch)
        let pool = try self.pool
        try Schema.migrator.migrate(pool)
        self.found.store(Schema.Extent.all.rawValue, ordering: .releasing)
        try self.transaction(pool, isDurable: true) { db in
            if try self.newest(db) != newest {
                try db.execute(sql: "DELETE FROM change WHERE seq = ?", arguments: [newest.seq])
                try self.insert(newest, db)
            }
            if let declaration = beginning.declaration {
                try self.insert((declaration, newest.seq), db)
            }
            try db.execute(
                sql: "INSERT OR REPLACE INTO meta VALUES (1, ?, ?, ?, 1)",
                arguments: [epoch, self.boot, self.durability.rawValue]
            )
            if let stay = beginning.stay { try self.note(stay, db) }
        }
        self.directory.note(.init(epoch: epoch, seq: newest.seq))
        self.beginning = nil
    }

    // MARK: - Changes

    /// Commits all rows or none, with the start of the last stay that they begin, if any, and the
    /// declaration of their states if that has to be written.
    func append(
        _ rows: [NewRow],
        _ stay: StayStart? = nil,
        declaring declaration: NewDeclaration? = nil
    ) throws {
        func add(to db: Database) throws {
            try self.insert(rows, db)
            if let stay { try self.note(stay, db) }
            if let declaration { try self.insert(declaration, db) }
        }
        guard self.isSettled else { return try self.write(add) }
        // From here on a crash of the machine may lose changes, which the next start has to know.
        try self.writeDurably { db in
            try add(to: db)
            try db.execute(sql: "UPDATE meta SET settled = 0")
        }
        self.isSettled = false
    }

    /// Writes the declaration of the states from that seq on.
    func note(_ declaration: NewDeclaration) throws {
        try self.write { db in try self.insert(declaration, db) }
    }

    /// Gets everything onto the disk, and records that, and how far the numbering is; afterwards
    /// all of it is in the database file itself, if no one else is reading.
    func settle(at numbering: StateDirectory.Numbering) throws {
        // Before the beginning is written, no change can have been made.
        guard self.beginning == nil else { return }
        if !self.isSettled {
            try self.writeDurably { db in try db.execute(sql: "UPDATE meta SET settled = 1") }
            self.isSettled = true
        }
        self.directory.note(numbering)
        try self.checkpoint()
    }

    /// Removes what is older than `seq`.
    func prune(before seq: UInt64) throws {
        try self.write { db in
            try db.cachedStatement(sql: "DELETE FROM change WHERE seq < ?")
                .execute(arguments: [seq])
            try self.pruneDeclarations(before: seq, db)
        }
    }

    /// The first of the next `count` transitions from `seq` on made at `time` or later, or one past
    /// them if there is none.
    func first(since time: WallTime, from seq: UInt64, count: Int) throws -> UInt64 {
        try self.pool.unsafeRead { db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT seq, at FROM change WHERE seq >= ? ORDER BY seq LIMIT ?",
                arguments: [seq, count]
            )
            for row in rows where row["at"] as Int64 >= time.microseconds { return row["seq"] }
            return (rows.last?["seq"] as UInt64?).map { $0 + 1 } ?? seq
        }
    }

    // MARK: - Transactions

    func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try self.writeBeginning()
        return try self.transaction(self.pool, isDurable: self.durability == .disk, body)
    }

    /// A transaction which is on the disk when it ends, with all that was before it.
    func writeDurably<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try self.writeBeginning()
        return try self.transaction(self.pool, isDurable: true, body)
    }

    private func transaction<Result>(
        _ pool: DatabasePool,
        isDurable: Bool,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        try pool.writeWithoutTransaction { db in
            try self.setSynchronous(db, isDurable)
            // Cached, unlike with `inTransaction`.
            try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
            do {
                let result = try body(db)
                try db.cachedStatement(sql: "COMMIT").execute()
                return result
            } catch {
                // The first error is the one that counts.
                try? db.rollback()
                throw error
            }
        }
    }

    private func setSynchronous(_ db: Database, _ isSynchronous: Bool) throws {
        guard self.isSynchronous != isSynchronous else { return }
        try db.execute(sql: "PRAGMA synchronous = \(isSynchronous ? "FULL" : "NORMAL")")
        self.isSynchronous = isSynchronous
    }
}

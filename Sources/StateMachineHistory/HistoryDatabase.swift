import GRDB
import StateMachineCore

/// The database: one writer, whose calls come one after the other, and one reader beside it.
///
/// `@unchecked Sendable`: `isSettled` is touched by the writing calls only, all of which are made on
/// one queue.
final class HistoryDatabase: @unchecked Sendable {
    /// What an opened database says of its past.
    struct Past {
        let epoch: String
        let newest: RecordedTransition
        /// The oldest transition, one past the newest if there is none.
        let oldest: UInt64
        /// Whether there was none.
        var isNew = false
    }

    let path: String
    let pool: DatabasePool
    private let durability: HistoryOptions.Durability
    private let boot: String?
    private var isSettled = true

    /// Seconds to wait for another program that has the database locked.
    ///
    /// 2: longer than any query of a person's, and a set is answered within it. Not tuned.
    private static let patience = 2.0

    init(path: String, durability: HistoryOptions.Durability, boot: String?) throws {
        self.path = path
        self.durability = durability
        self.boot = boot
        var configuration = Configuration()
        configuration.maximumReaderCount = 1
        configuration.busyMode = .timeout(Self.patience)
        configuration.label = "statemachine.history"
        self.pool = try DatabasePool(path: path, configuration: configuration)
    }

    /// Brings the schema up to date, and reads where the last run ended.
    ///
    /// - Parameters:
    ///   - initial: what a new database begins with.
    ///   - newEpoch: a name for a numbering that begins, or that may have lost its end.
    /// - Returns: where it stands now.
    /// - Throws: ``HistoryError``, or what SQLite has to say.
    func open(initial: RecordedTransition, newEpoch: String) throws -> Past {
        if try self.pool.read(Schema.migrator.hasBeenSuperseded) {
            throw HistoryError(
                "\(self.path) was written by a newer version of this program; "
                    + "start that one, or move the file away to begin anew"
            )
        }
        try Schema.migrator.migrate(self.pool)
        return try self.writeDurably { db in
            guard let newest = try self.newest(db) else {
                try self.insert([initial], db)
                try self.writeMeta(db, epoch: newEpoch, isSettled: true)
                return Past(
                    epoch: newEpoch,
                    newest: initial,
                    oldest: initial.seq + 1,
                    isNew: true
                )
            }
            let epoch = try self.epoch(db) ?? newEpoch
            try self.writeMeta(db, epoch: epoch, isSettled: true)
            let oldest = try UInt64.fetchOne(db, sql: "SELECT min(seq) FROM change WHERE seq > 0")
            return Past(epoch: epoch, newest: newest, oldest: oldest ?? newest.seq + 1)
        }
    }

    /// The numbering of the last run; nil if that has ended.
    private func epoch(_ db: Database) throws -> String? {
        guard let meta = try Row.fetchOne(db, sql: "SELECT * FROM meta WHERE id = 1") else {
            return nil
        }
        let boot: String? = meta["boot"]
        let durability: String = meta["durability"]
        let isWhole =
            meta["settled"] || durability == HistoryOptions.Durability.disk.rawValue
            || (boot != nil && boot == self.boot)
        return isWhole ? meta["epoch"] : nil
    }

    /// Writes the newest state anew, under a new epoch, since its form has changed.
    func replaceNewest(with transition: RecordedTransition, epoch: String) throws {
        try self.writeDurably { db in
            try db.execute(sql: "DELETE FROM change WHERE seq = ?", arguments: [transition.seq])
            try self.insert([transition], db)
            try self.writeMeta(db, epoch: epoch, isSettled: true)
        }
    }

    /// Commits all of them or none.
    func append(_ transitions: [RecordedTransition]) throws {
        guard self.isSettled else {
            try self.write { db in try self.insert(transitions, db) }
            return
        }
        // From here on a crash of the machine may cost something, which the next start has to know.
        try self.writeDurably { db in
            try self.insert(transitions, db)
            try db.execute(sql: "UPDATE meta SET settled = 0")
        }
        self.isSettled = false
    }

    /// Has everything on the disk, and notes that it is.
    func settle() throws {
        guard !self.isSettled else { return }
        try self.writeDurably { db in try db.execute(sql: "UPDATE meta SET settled = 1") }
        self.isSettled = true
    }

    /// Removes what is older than `seq`.
    func prune(before seq: UInt64) throws {
        try self.write { db in
            try db.cachedStatement(sql: "DELETE FROM change WHERE seq < ?")
                .execute(arguments: [seq])
        }
    }

    /// The first of the next `count` transitions from `seq` on that was made at `time` or later, or one
    /// past them if none was.
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

    private func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try self.pool.writeWithoutTransaction { db in
            try self.setSynchronous(db, self.durability == .disk)
            return try self.transaction(db, body)
        }
    }

    /// A transaction which is on the disk when it ends, with all that was before it.
    private func writeDurably<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try self.pool.writeWithoutTransaction { db in
            try self.setSynchronous(db, true)
            return try self.transaction(db, body)
        }
    }

    private var isSynchronous: Bool?

    private func setSynchronous(_ db: Database, _ isSynchronous: Bool) throws {
        guard self.isSynchronous != isSynchronous else { return }
        try db.execute(sql: "PRAGMA synchronous = \(isSynchronous ? "FULL" : "NORMAL")")
        self.isSynchronous = isSynchronous
    }

    private func transaction<Result>(
        _ db: Database,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        // Cached, which `inTransaction` does not do.
        try db.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
        do {
            let result = try body(db)
            try db.cachedStatement(sql: "COMMIT").execute()
            return result
        } catch {
            // What went wrong first is what counts.
            try? db.rollback()
            throw error
        }
    }

    private func writeMeta(_ db: Database, epoch: String, isSettled: Bool) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta VALUES (1, ?, ?, ?, ?)",
            arguments: [epoch, self.boot, self.durability.rawValue, isSettled]
        )
    }
}

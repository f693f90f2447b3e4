import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// The database: one writer, whose calls come one after the other, and one reader beside it.
///
/// It is opened by the first call that can: a full disk must not keep the daemon from starting, so
/// that clients can ask for the machine's state.
///
/// `@unchecked Sendable`: `isSettled`, `isSynchronous`, `beginning`, `insertions`, `logPages` and `size` are touched
/// by the writing calls only, all of which are made on one thread; `opened`, `files` and `found` are
/// guarded by their locks.
final class HistoryDatabase: @unchecked Sendable {
    let directory: StateDirectory
    /// Whether the machine has stays.
    let hasStays: Bool
    private let durability: HistoryOptions.Durability
    let boot: String?
    /// How long to wait for another program that has locked the database.
    let timeout: Duration
    private let opened = Lock<Connections?>(nil)
    /// The files that are open; whoever reads or writes looks at what has their names.
    private let files = Lock(OpenedFiles())
    private let found = Lock(DatabaseSchema.Extent.changes)
    /// The length of the write-ahead log after the last commit.
    var logPages = 0
    /// Its length when it was last to be emptied in vain; 0 if that went well.
    private var stuckPages = 0
    /// The bytes in use when they were last looked at: after a checkpoint and after rows were removed.
    private(set) var size: UInt64 = 0
    private var isSettled = true
    private var isSynchronous: Bool?
    /// The state this run starts from, until it is written.
    private var beginning: Beginning?
    /// The statements that add rows, one or several at once.
    private(set) lazy var insertions = (
        ofOne: self.insertion(of: 1),
        ofSeveral: self.insertion(of: Self.rowsAtOnce)
    )

    var path: String { self.directory.database }

    /// What the tables contain: everything once they are of this version.
    var extent: DatabaseSchema.Extent { self.found.withLock { $0 } }

    init(
        in directory: StateDirectory,
        hasStays: Bool,
        durability: HistoryOptions.Durability,
        boot: String?,
        timeout: Duration
    ) {
        self.directory = directory
        self.hasStays = hasStays
        self.durability = durability
        self.boot = boot
        self.timeout = timeout
    }

    // The writer goes last, since only it can put the log away, and before the directory's lock.
    deinit {
        self.opened.withLock { opened in
            opened?.reader.close()
            opened = nil
        }
    }

    /// A connection that writes, and one that reads beside it.
    private typealias Connections = (writer: Database, reader: Database)

    /// How long a reader waits while another program puts a long log in order after a crash; nothing
    /// else keeps it waiting.
    private static let readerTimeout = Duration.seconds(10)

    private var connections: Connections {
        get throws {
            try self.opened.withLock { opened in
                if let opened { return opened }
                // What is opened there could not be written later, when it may be.
                guard !self.directory.isReadOnly else {
                    throw SQLiteError.readOnly
                }
                try self.directory.closeFiles()
                let writer = try Database(self.path, timeout: self.timeout)
                try writer.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
                try writer.execute("PRAGMA journal_size_limit = \(Self.keptLog)")
                // Read through once, it has its log, without which no reader can begin.
                _ = try writer.hasTable("change")
                self.watchLog(of: writer)
                let reader = try Database(self.path, .readOnly, timeout: Self.readerTimeout)
                self.files.withLock { $0.writes(to: self.path, isDone: true) }
                opened = (writer, reader)
                return (writer, reader)
            }
        }
    }

    /// The connection of the writing calls.
    var writer: Database { get throws { try self.connections.writer } }

    // MARK: - Beginning

    /// Reads where the last run ended.
    ///
    /// - Throws: ``HistoryError``, or SQLite's error.
    func past() throws -> Past {
        try self.read { db in
            guard try DatabaseSchema.isKnown(to: db) else {
                throw HistoryError(
                    "\(self.path) was written by a newer version of this program; "
                        + "start the newer version, or move the file away to start a new history"
                )
            }
            let extent = try DatabaseSchema.Extent.of(db)
            self.found.withLock { $0 = extent }
            var past = Past(voters: try self.voters(db))
            past.sharing = try self.sharing(db)
            guard try db.hasTable("change"), let newest = try self.newest(db) else { return past }
            past.newest = newest
            past.oldest =
                try db.first("SELECT min(seq) FROM change WHERE seq > 0") { try $0.value(0) } ?? nil
            (past.epoch, past.isWhole, past.boot) = try self.numbering(db)
            past.earlier = try self.earlierNumberings(db)
            past.declaration = try self.lastDeclaration(db)
            past.begun = try db.first(
                "SELECT at FROM change WHERE seq >= ? ORDER BY seq LIMIT 1",
                newest.stay ?? newest.seq
            ) { WallTime(microseconds: try $0.present(0)) }
            past.stay = self.extent >= .stays ? try NotedStay.read(db) : nil
            past.times = try NotedStay.times(db)
            past.links = try self.notedLinks(db)
            return past
        }
    }

    /// Runs `body`, which sees one state of the database, even if the disk accepts nothing; on the reading
    /// calls' queue.
    func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        do {
            let reader = try self.connections.reader
            let result = Swift.Result { try reader.transaction(.reading) { try body(reader) } }
            // Whatever was read, or was wrong with it.
            try self.files.withLock { try $0.checkContent(of: self.path) }
            return try result.get()
        } catch let error as SQLiteError where self.isOfTheDisk(error) {
            return try self.readAlone(body)
        }
    }

    /// Why the disk does not take what `body` writes; nil if it does.
    ///
    /// - Throws: what else `body` throws.
    func trouble(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let error as SQLiteError where self.isOfTheDisk(error) {
            return self.sentence(for: error)
        }
    }

    /// Whether the disk is full, failing or read-only.
    func isOfTheDisk(_ error: SQLiteError) -> Bool {
        switch error.kind {
        case .isInaccessible: self.directory.isReadOnly
        default: error.isOfTheDisk
        }
    }

    /// Reads without the files that connections share, for which there may be no room.
    private func readAlone<Result>(_ body: (Database) throws -> Result) throws -> Result {
        let database: Database
        if self.directory.isReadOnly {
            // Without a log there are no files to share, and none can be made.
            database = try Database(self.path, self.directory.hasLog ? .readOnly : .unchanging)
        } else {
            database = try Database(self.path)
            // The write-ahead log's index is then kept in memory: sqlite.org/wal.html, 8.
            try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        }
        return try database.transaction(.reading) { try body(database) }
    }

    /// The numbering of the last run, whether its end cannot have been lost, and the boot.
    private func numbering(
        _ db: Database
    ) throws -> (epoch: Epoch?, isWhole: Bool, boot: String?) {
        let sql = "SELECT epoch, boot, durability, settled FROM meta WHERE id = 1"
        return try db.first(sql) { meta in
            let boot = meta.text(1)
            let isWhole =
                meta.integer(3) != 0 || meta.text(2) == HistoryOptions.Durability.disk.rawValue
                || (boot != nil && boot == self.boot)
            return (meta.text(0).flatMap { Epoch($0) }, isWhole, boot)
        } ?? (nil, true, nil)
    }

    private func earlierNumberings(_ db: Database) throws -> [Cursor] {
        guard try db.hasTable("numbering") else { return [] }
        return try db.all("SELECT epoch, end FROM numbering ORDER BY rowid") { row in
            // A negative end is not ours: nothing of that numbering is the same.
            Epoch(row.text(0) ?? "").map { Cursor(epoch: $0, seq: UInt64(max(0, row.integer(1)))) }
        }.compactMap(\.self)
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
        try DatabaseSchema.migrate(self.writer)
        self.found.withLock { $0 = .all }
        try self.transaction(isDurable: true) { db in
            if let start = beginning.start { try self.write(start, db) }
            if let times = beginning.times { try self.note(times, db) }
            try self.note(beginning.sharing, db)
        }
        if let start = beginning.start {
            self.directory.note(.init(epoch: start.epoch, seq: start.newest.seq))
        }
        self.beginning = nil
    }

    /// Writes where a run starts; within a transaction.
    private func write(_ start: Beginning.Start, _ db: Database) throws {
        let newest = start.newest
        if try self.newest(db) != newest {
            try db.run("DELETE FROM change WHERE seq = ?", newest.seq)
            try self.insert(newest, db)
        }
        if let declaration = start.declaration {
            try self.insert((declaration, newest.seq), db)
        }
        try db.run(
            "INSERT OR REPLACE INTO meta VALUES (1, ?, ?, ?, 1)",
            start.epoch.description,
            self.boot,
            self.durability.rawValue
        )
        try db.execute("DELETE FROM numbering")
        for earlier in start.earlier {
            try db.run(
                "INSERT OR REPLACE INTO numbering VALUES (?, ?)",
                earlier.epoch.description,
                earlier.seq
            )
        }
        if let stay = start.stay {
            try self.note(stay, db)
            try self.note(start.times, since: stay, db)
        }
    }

    /// Moves the database out of the way, so that the next one that is written is another; while nobody reads.
    ///
    /// - Returns: where it is now.
    /// - Throws: ``HistoryError``; then it is still there, and used.
    func setAside() throws(HistoryError) -> String {
        self.opened.withLock { opened in
            opened?.reader.close()
            opened?.writer.close()
            opened = nil
        }
        self.files.withLock { $0 = OpenedFiles() }
        (self.isSettled, self.isSynchronous) = (true, nil)
        (self.logPages, self.stuckPages, self.size) = (0, 0, 0)
        let aside = try self.directory.setDatabaseAside(as: .former)
        self.found.withLock { $0 = .changes }
        return aside.file
    }

    // MARK: - Changes

    /// What is committed together, all or none.
    struct Addition {
        /// The changes.
        var rows: [NewRow] = []
        /// The start of the last stay that they begin, if that is to be written.
        var stay: StayStart?
        /// From when on the stay before them counts, if that has changed.
        var corrected: StayStart?
        /// What is known of the times of the state that they lead to, and from when on its stay counts; nil if that is as
        /// it was.
        var times: (known: [KnownTime], since: StayStart?)?
        /// How far linked machines have been followed, if that is to be written.
        var links: KeptLinks?
        var declarations: [NewDeclaration] = []
        /// The holds and guards as they are, by number; nil if one has ended.
        var voters: [(number: UInt64, voter: KeptVoter?)] = []
    }

    /// Commits it; with holds or guards it is on the disk when this returns.
    func append(_ addition: Addition) throws {
        func add(to db: Database) throws {
            if let corrected = addition.corrected { try self.note(corrected, db, isNew: false) }
            try self.insert(addition.rows, db)
            if let stay = addition.stay { try self.note(stay, db) }
            if let (known, since) = addition.times { try self.note(known, since: since, db) }
            if let links = addition.links { try self.note(links, db) }
            for declaration in addition.declarations { try self.insert(declaration, db) }
            try self.keep(addition.voters, db)
        }
        let isDurable = !addition.voters.isEmpty
        guard self.isSettled, !addition.rows.isEmpty else {
            return try self.write(isDurable: isDurable, add)
        }
        // From here on a crash of the machine may lose changes, which the next start has to know.
        try self.write(isDurable: true) { db in
            try add(to: db)
            try db.run("UPDATE meta SET settled = 0")
        }
        self.isSettled = false
    }

    /// Gets everything onto the disk, and records that, and how far the numbering is; afterwards
    /// all of it is in the database file itself, if no one else is reading.
    func settle(at end: Cursor) throws {
        // Before the beginning is written, no change can have been made.
        guard self.beginning == nil else { return }
        if !self.isSettled {
            try self.write(isDurable: true) { db in try db.run("UPDATE meta SET settled = 1") }
            self.isSettled = true
        }
        self.directory.note(end)
        try self.checkpoint()
    }

    /// Removes what is older than `seq`; returns the oldest that is left, which may be later.
    func prune(before seq: UInt64) throws -> UInt64 {
        let oldest = try self.write { db in
            // The first that is left says itself what it left.
            try db.run(
                """
                UPDATE change SET (fromState, fromData) =
                    (SELECT state, data FROM change AS before WHERE before.seq = change.seq - 1)
                    WHERE seq = (SELECT min(seq) FROM change WHERE seq >= ?) AND fromState IS NULL
                """,
                seq
            )
            try db.run("DELETE FROM change WHERE seq < ?", seq)
            try self.pruneDeclarations(before: seq, db)
            let oldest: UInt64? =
                try db.first("SELECT min(seq) FROM change") { try $0.value(0) } ?? nil
            return oldest ?? seq
        }
        self.measure(try self.writer)
        return oldest
    }

    /// The first of these transitions made at `time` or later, or one past them if there is none.
    func first(since time: WallTime, in rows: Range<UInt64>) throws -> UInt64 {
        let sql =
            "SELECT seq FROM change WHERE seq >= ? AND seq < ? AND at >= ? ORDER BY seq LIMIT 1"
        let found: UInt64? = try self.writer.first(
            sql,
            rows.lowerBound,
            rows.upperBound,
            time.microseconds
        ) { try $0.present(0) }
        return found ?? rows.upperBound
    }

    // MARK: - Transactions

    /// Runs `body` in a transaction; with `isDurable`, it is on the disk when that ends, with all
    /// that was before it.
    func write<Result>(
        isDurable: Bool = false,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        try self.writeBeginning()
        return try self.transaction(isDurable: isDurable || self.durability == .disk, body)
    }

    /// Sees to it that the next start finds nothing of what has failed so; returns whether that is sure.
    ///
    /// A commit that was written and not synced is in the log, complete, until something is written over it.
    func undo(after error: any Error) -> Bool {
        guard (error as? SQLiteError)?.isUnsynced == true else { return true }
        do {
            try self.transaction(isDurable: true) { db in
                // A page that stays as it was would not be written.
                for _ in 0..<2 { try db.run("UPDATE meta SET settled = 1 - settled") }
            }
            return true
        } catch {
            return false
        }
    }

    private func transaction<Result>(
        isDurable: Bool,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        try self.files.withLock { try $0.check(self.path) }
        let writer = try self.writer
        if self.isSynchronous != isDurable {
            try writer.execute("PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
            self.isSynchronous = isDurable
        }
        return try writer.transaction(.writing) { try body(writer) }
    }
}

extension HistoryDatabase {
    /// Bytes that the write-ahead log's file keeps once everything in it is in the database too.
    ///
    /// 16 MiB: four times its usual length by then. Not tuned.
    static let keptLog = 16 << 20

    /// Pages after which a checkpoint is made: SQLite's own number, whose hook this replaces.
    private static let checkpointPages = 1000

    /// SQLite's own size for a new database.
    private static let pageBytes = 4096

    /// Notes the length of the write-ahead log after each commit.
    func watchLog(of writer: Database) {
        // Neither keeps the other: the connection goes with the history.
        writer.onCommit { [weak self, unowned writer] pages in
            guard let self else { return }
            self.logPages = pages
            // Moves what no reader needs: its result does not affect the commit.
            if pages >= Self.checkpointPages { self.checkpoint(writer, isComplete: false) }
        }
    }

    /// How long commits wait for those who read, so that a long log can be emptied.
    ///
    /// 500 ms: readers that take turns end theirs sooner, and a set is answered soon enough. Not tuned.
    private static let patience = Duration.milliseconds(500)

    /// Empties a write-ahead log that is longer than `bytes`, waiting a moment for those who read.
    ///
    /// It is written again from its beginning only when nobody reads any of it; where reads overlap, that moment never
    /// comes by itself. Who begins to read while this waits finds all of it moved, and needs none of it. If somebody
    /// reads for longer, this is tried again when the log has twice that length, or four times `bytes` more.
    func emptyLog(longerThan bytes: Int) throws {
        let pages = bytes / Self.pageBytes
        guard self.logPages > max(pages, self.stuckPages + min(self.stuckPages, 4 * pages)) else {
            if self.logPages <= pages { self.stuckPages = 0 }
            return
        }
        let isDone = try self.checkpoint(waiting: Self.patience)
        if isDone { self.logPages = 0 }
        self.stuckPages = isDone ? 0 : self.logPages
    }

    /// Why the write-ahead log has grown long; nil while it is not beyond `bytes`, a length that
    /// only a reader can explain.
    func growth(beyond bytes: Int) -> String? {
        guard self.logPages * Self.pageBytes > bytes else { return nil }
        return
            "\(self.path)-wal has grown beyond \(bytes >> 20) MiB, as another program reads the database in "
            + "transactions of half a second and more; end that program"
    }

    /// Moves what is in the write-ahead log to the database file, so that a copy of that file alone
    /// is complete.
    ///
    /// - Parameter patience: how long to wait for those who read.
    /// - Throws: why the database cannot be used.
    /// - Returns: whether the log is empty.
    @discardableResult func checkpoint(waiting patience: Duration = .zero) throws -> Bool {
        try self.files.withLock { try $0.checkContent(of: self.path) }
        let writer = try self.writer
        writer.wait(patience)
        defer { writer.wait(self.timeout) }
        return self.checkpoint(writer, isComplete: true)
    }

    /// Looks at how much of the database is in use; of one that cannot be read it stays what it was.
    private func measure(_ writer: Database) {
        let sql = """
            SELECT (page_count - freelist_count) * page_size
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size
            """
        let size: UInt64? = try? writer.first(sql) { try $0.value(0) } ?? nil
        self.size = size ?? self.size
    }

    @discardableResult private func checkpoint(_ writer: Database, isComplete: Bool) -> Bool {
        self.files.withLock { $0.writes(to: self.path, isDone: false) }
        let isDone = writer.checkpoint(isComplete: isComplete)
        self.files.withLock { $0.writes(to: self.path, isDone: true) }
        self.measure(writer)
        return isDone
    }
}

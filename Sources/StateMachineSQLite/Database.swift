import CLibSQLite

/// A connection to a database file.
///
/// `@unchecked Sendable`: it belongs to one thread at a time, for which its owner answers; SQLite's
/// own lock is left out (sqlite.org/threadsafe.html). The hook is only called in a commit.
package final class Database: @unchecked Sendable {
    package enum Access {
        /// Creates the file if it does not exist.
        case readWrite
        case readOnly
        /// Of a file that nobody writes to meanwhile: no other file is made beside it.
        case unchanging
    }

    /// Prepared statements that are kept.
    ///
    /// 32: twice what a history has of its own; a search has one for each combination of filters.
    private static let keptStatements = 32

    private var connection: OpaquePointer?
    private var statements: [String: Statement] = [:]
    private var hook: ((_ pages: Int) -> Void)?

    /// Opens the file; whether it is a database shows when it is used, and `timeout` is how long
    /// each call waits for other programs' locks.
    package init(
        _ path: String,
        _ access: Access = .readWrite,
        timeout: Duration = .zero
    ) throws(SQLiteError) {
        let flags =
            switch access {
            case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readOnly: SQLITE_OPEN_READONLY
            case .unchanging: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            }
        let name = access == .unchanging ? "file:\(Self.escaped(path))?immutable=1" : path
        var connection: OpaquePointer?
        let code = sqlite3_open_v2(name, &connection, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK else {
            sqlite3_close_v2(connection)
            throw SQLiteError(code, String(cString: sqlite3_errstr(code)))
        }
        sqlite3_extended_result_codes(connection, 1)
        self.connection = connection
        self.wait(timeout)
    }

    deinit { self.close() }

    /// Closes the connection, which must not be used afterwards.
    package func close() {
        self.statements = [:]
        // Statements that somebody still has keep it until they go.
        sqlite3_close_v2(self.connection)
        self.connection = nil
    }

    /// The path escaped for a URI: sqlite.org/uri.html, 3.1.
    private static func escaped(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
    }

    /// Sets how long each call waits for other programs' locks.
    package func wait(_ timeout: Duration) {
        let milliseconds = timeout / .milliseconds(1)
        sqlite3_busy_timeout(self.connection, CInt(min(milliseconds, Double(CInt.max))))
    }

    // MARK: - Statements

    /// Runs any number of statements that have no parameters; their rows are dropped.
    package func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(self.connection, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw SQLiteError(code, String(cString: sqlite3_errmsg(self.connection)))
        }
    }

    /// The statement of that text, prepared once; its user resets it.
    package func statement(_ sql: String) throws(SQLiteError) -> Statement {
        if let statement = self.statements[sql] { return statement }
        let statement = try Statement(sql, on: self.connection)
        if self.statements.count == Self.keptStatements { self.statements = [:] }
        self.statements[sql] = statement
        return statement
    }

    /// Runs one statement to its end.
    package func run(_ sql: String, _ values: (any StoredValue)?...) throws(SQLiteError) {
        let statement = try self.statement(sql)
        defer { statement.reset() }
        statement.bind(values)
        while try statement.step() {}
    }

    /// What `read` makes of each row.
    package func all<Value>(
        _ sql: String,
        _ values: (any StoredValue)?...,
        read: (Statement) throws -> Value
    ) throws -> [Value] {
        let statement = try self.statement(sql)
        defer { statement.reset() }
        statement.bind(values)
        var all: [Value] = []
        while try statement.step() { all.append(try read(statement)) }
        return all
    }

    /// What `read` makes of the first row; nil if there is none.
    package func first<Value>(
        _ sql: String,
        _ values: (any StoredValue)?...,
        read: (Statement) throws -> Value
    ) throws -> Value? {
        let statement = try self.statement(sql)
        defer { statement.reset() }
        statement.bind(values)
        return try statement.step() ? read(statement) : nil
    }

    /// The key of the row that was inserted last.
    package var lastRow: Int64 { sqlite3_last_insert_rowid(self.connection) }

    /// How many rows the last statement has inserted, changed or deleted.
    package var changes: Int { Int(sqlite3_changes(self.connection)) }

    package func hasTable(_ name: String) throws(SQLiteError) -> Bool {
        let statement = try self.statement(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE"
        )
        defer { statement.reset() }
        statement.bind(name, 1)
        return try statement.step()
    }

    // MARK: - Transactions and the write-ahead log

    package enum Transaction: String {
        /// Sees one state of the database, and does not write.
        case reading = "BEGIN DEFERRED"
        case writing = "BEGIN IMMEDIATE"
    }

    /// Commits what `body` does, or nothing of it if that throws.
    package func transaction<Result>(
        _ kind: Transaction,
        _ body: () throws -> Result
    ) throws -> Result {
        try self.run(kind.rawValue)
        do {
            let result = try body()
            try self.run("COMMIT")
            return result
        } catch {
            // SQLite may have ended it itself, for example on a full disk; the first error counts.
            if sqlite3_get_autocommit(self.connection) == 0 {
                sqlite3_exec(self.connection, "ROLLBACK", nil, nil, nil)
            }
            throw error
        }
    }

    /// Calls `hook` after each commit with the length of the write-ahead log in pages; from then on
    /// nothing is moved to the database file but by ``checkpoint(isComplete:)``.
    package func onCommit(_ hook: @escaping (_ pages: Int) -> Void) {
        self.hook = hook
        sqlite3_wal_hook(
            self.connection,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                let database = Unmanaged<Database>.fromOpaque(context).takeUnretainedValue()
                database.hook?(Int(pages))
                return SQLITE_OK
            },
            // It closes the connection before it goes.
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Moves what is in the write-ahead log to the database file.
    ///
    /// What another program is still reading stays in the log, as does what the disk cannot take:
    /// both are harmless, since what is in the log is committed.
    ///
    /// - Parameter isComplete: whether the log's file is to be empty afterwards, which waits for those who read it as long
    ///   as calls do; otherwise nobody is waited for, and the file keeps its length and is written again from its beginning.
    /// - Returns: whether all of that was done.
    @discardableResult package func checkpoint(isComplete: Bool) -> Bool {
        let mode = isComplete ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        return sqlite3_wal_checkpoint_v2(self.connection, nil, mode, nil, nil) == SQLITE_OK
    }
}

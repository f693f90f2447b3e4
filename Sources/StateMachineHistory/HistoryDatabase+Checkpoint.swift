import GRDB
import GRDBSQLite

/// How long the write-ahead log is, by what SQLite says after each commit, and its way back into the
/// database's own file.
///
/// `@unchecked Sendable`: SQLite calls where the commit is made, and it is asked there.
final class LogLength: @unchecked Sendable {
    /// Pages after which what is in the log is moved to the database's own file: SQLite's own number, which
    /// goes with the hook that this takes the place of.
    private static let checkpoint: CInt = 1000

    private(set) var pages: CInt = 0

    /// Has the writer's connection tell it; it has to outlive that.
    func watch(_ db: Database) {
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, name, pages in
                guard let context else { return SQLITE_OK }
                let length = Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue()
                length.pages = pages
                // As far as others do not read: what it says is not the commit's outcome.
                if pages >= LogLength.checkpoint {
                    sqlite3_wal_checkpoint_v2(
                        connection,
                        name,
                        SQLITE_CHECKPOINT_PASSIVE,
                        nil,
                        nil
                    )
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }
}

extension HistoryDatabase {
    /// Bytes that the write-ahead log's file keeps when all that is in it is in the database too.
    ///
    /// 16 MiB: four times what it usually has by then. Not tuned.
    static let keptLog = 16 << 20

    /// Why the write-ahead log has grown long; nil while it is not beyond `bytes`, a length that nothing
    /// explains but a reader.
    func growth(beyond bytes: Int) -> String? {
        guard Int(self.logLength.pages) * self.pageBytes > bytes else { return nil }
        return
            "\(self.path)-wal has more than \(bytes >> 20) MiB and grows: another program has been "
            + "reading the database all the time; end its transaction"
    }

    /// Moves what is in the write-ahead log to the database's own file, a copy of which alone is whole then.
    ///
    /// It waits for nobody: what another program still reads stays in the log, as does what the disk does
    /// not take. Both are of no harm, for what is in the log is committed.
    func checkpoint() throws {
        try self.pool.writeWithoutTransaction { db in
            let connection = db.sqliteConnection
            sqlite3_busy_timeout(connection, 0)
            sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
            sqlite3_busy_timeout(connection, CInt(self.timeout * 1000))
        }
    }
}

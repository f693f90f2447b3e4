import GRDB
import GRDBSQLite

/// The length of the write-ahead log, as SQLite reports it after each commit, and its checkpoints.
///
/// `@unchecked Sendable`: SQLite calls it where the commit is made, and it is read there.
final class LogLength: @unchecked Sendable {
    /// Pages after which a checkpoint is made: SQLite's own number, which this sets since its hook
    /// replaces SQLite's.
    private static let checkpoint: CInt = 1000

    private(set) var pages: CInt = 0

    /// Installs it on the writer's connection; it has to outlive that.
    func watch(_ db: Database) {
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, connection, name, pages in
                guard let context else { return SQLITE_OK }
                let length = Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue()
                length.pages = pages
                // Moves what no reader needs: its result does not affect the commit.
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
    /// Bytes that the write-ahead log's file keeps once everything in it is in the database too.
    ///
    /// 16 MiB: four times its usual length by then. Not tuned.
    static let keptLog = 16 << 20

    /// Why the write-ahead log has grown long; nil while it is not beyond `bytes`, a length that
    /// only a reader can explain.
    func growth(beyond bytes: Int) -> String? {
        guard Int(self.logLength.pages) * self.pageBytes > bytes else { return nil }
        return
            "\(self.path)-wal has more than \(bytes >> 20) MiB and grows: another program has been "
            + "reading the database all the time; end its transaction"
    }

    /// Moves what is in the write-ahead log to the database file, so that a copy of that file alone
    /// is complete.
    ///
    /// It waits for nobody: what another program is still reading stays in the log, as does what
    /// the disk cannot take. Both are harmless, since what is in the log is committed.
    func checkpoint() throws {
        try self.pool.writeWithoutTransaction { db in
            let connection = db.sqliteConnection
            sqlite3_busy_timeout(connection, 0)
            sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
            sqlite3_busy_timeout(connection, CInt(self.timeout * 1000))
        }
    }
}

import GRDB
import GRDBSQLite

extension HistoryDatabase {
    /// Moves what is in the write-ahead log to the database's own file, a copy of which alone is whole then.
    ///
    /// It waits for nobody: what another program still reads stays in the log, as does what the disk does
    /// not take. Both are of no harm, for what is in the log is committed.
    func checkpoint() throws {
        try self.pool.writeWithoutTransaction { db in
            let connection = db.sqliteConnection
            sqlite3_busy_timeout(connection, 0)
            sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
            sqlite3_busy_timeout(connection, CInt(self.patience * 1000))
        }
    }
}

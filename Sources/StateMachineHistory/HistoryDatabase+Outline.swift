import GRDB
import GRDBSQLite
import StateMachineCore
import StateMachineProtocol

extension HistoryDatabase {
    /// An outline of the first few transitions between two others.
    ///
    /// With SQLite's own calls: a `Row` for each would take several times as long.
    func outline(
        after low: UInt64,
        before high: UInt64,
        limit: Int
    ) throws -> TransitionOutline {
        let stay = self.hasStays && self.extent >= .stays ? "stay" : "NULL"
        return try self.pool.read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT seq, at, state, \(stay) FROM change WHERE seq > ? AND seq < ? \
                    ORDER BY seq LIMIT ?
                    """
            )
            try statement.setArguments([low, high, limit])
            let rows = statement.sqliteStatement
            defer { sqlite3_reset(rows) }
            guard try Self.hasRow(rows, db) else {
                // One past those requested: nothing is left.
                return TransitionOutline(from: high)
            }
            var seq = UInt64(clamping: sqlite3_column_int64(rows, 0))
            var outline = TransitionOutline(from: seq)
            outline.hasGap = seq > low + 1
            repeat {
                outline.append(
                    UnsafeBufferPointer(
                        start: sqlite3_column_text(rows, 2),
                        count: Int(sqlite3_column_bytes(rows, 2))
                    ),
                    at: WallTime(microseconds: sqlite3_column_int64(rows, 1)),
                    isSameStay: sqlite3_column_type(rows, 3) != SQLITE_NULL
                        && sqlite3_column_int64(rows, 3) != Int64(seq)
                )
                seq += 1
                // What follows a gap is left to the next query, which reports the gap.
            } while try Self.hasRow(rows, db)
                && UInt64(clamping: sqlite3_column_int64(rows, 0)) == seq
            return outline
        }
    }

    private static func hasRow(_ rows: OpaquePointer, _ db: Database) throws -> Bool {
        switch sqlite3_step(rows) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: db.lastErrorMessage
            )
        }
    }
}

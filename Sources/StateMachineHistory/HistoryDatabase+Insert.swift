import GRDB
import GRDBSQLite
import StateMachineCore
import StateMachineProtocol

/// Writes transitions, with SQLite's own calls: a set adds no more than a row to a group, and the
/// values and checks in between would cost more than the row.
extension HistoryDatabase {
    /// A transition to be written; its owner keeps the states alive.
    struct NewRow {
        let seq: UInt64
        let old: WrittenState.Text?
        let new: WrittenState.Text
        let at: WallTime
        let cause: String?
        let by: Peer?
        /// The seq that began the stay; nil if that is its own.
        var stay: UInt64?
        /// What is due in the state, as recorded.
        var due: String?
    }

    /// Adds the row; within a transaction, which is to be rolled back if this throws.
    func insert(_ transition: RecordedTransition, _ db: Database) throws {
        let (old, new) = (
            transition.old.map { WrittenState($0) }, WrittenState(transition.new)
        )
        let row = NewRow(
            seq: transition.seq,
            old: old?.text,
            new: new.text,
            at: transition.at,
            cause: transition.cause,
            by: transition.by,
            stay: transition.stay == transition.seq ? nil : transition.stay,
            due: transition.due
        )
        try withExtendedLifetime((old, new)) { try self.insert([row], db) }
    }

    /// Adds the rows; within a transaction, which is to be rolled back if this throws.
    func insert(_ rows: [NewRow], _ db: Database) throws {
        // In place: an array's elements would be copied when read.
        try rows.withUnsafeBufferPointer { rows in
            let several = rows.count / Self.rowsAtOnce * Self.rowsAtOnce
            let insertions = self.hasStays ? Self.withStays : Self.withoutStays
            try self.insert(rows[..<several], Self.rowsAtOnce, by: insertions.ofSeveral, db)
            try self.insert(rows[several...], 1, by: insertions.ofOne, db)
        }
    }

    /// How many rows one statement adds.
    ///
    /// 16: measured with groups of 128, where it saves a fifth of a row's cost; twice as many save
    /// no more.
    private static let rowsAtOnce = 16

    /// The statements that add rows, one or several at once.
    private struct Insertions {
        let ofOne: String
        let ofSeveral: String

        init(columns: String) {
            let count = columns.split(separator: ",").count
            let row = "(\(Array(repeating: "?", count: count).joined(separator: ", ")))"
            func insertion(_ rows: Int) -> String {
                let values = Array(repeating: row, count: rows).joined(separator: ", ")
                return "INSERT INTO change (\(columns)) VALUES \(values)"
            }
            self.ofOne = insertion(1)
            self.ofSeveral = insertion(HistoryDatabase.rowsAtOnce)
        }
    }

    /// Columns that a machine without stays does not use are not bound.
    private static let withoutStays = Insertions(
        columns: "seq, at, state, data, fromState, fromData, uid, pid, cause, comm, unit"
    )
    private static let withStays = Insertions(
        columns: "seq, at, state, data, fromState, fromData, uid, pid, cause, comm, unit, stay, due"
    )

    /// Adds the rows with a statement that adds `count` at a time; their number is a multiple of
    /// it.
    private func insert(
        _ rows: Slice<UnsafeBufferPointer<NewRow>>,
        _ count: Int,
        by sql: String,
        _ db: Database
    ) throws {
        guard !rows.isEmpty else { return }
        let statement = try db.cachedStatement(sql: sql).sqliteStatement
        // Bound texts live as long as the rows, not as long as the statement.
        defer { sqlite3_clear_bindings(statement) }
        for start in stride(from: rows.startIndex, to: rows.endIndex, by: count) {
            let (first, last) = (Int64(rows[start].seq), Int64(rows[start + count - 1].seq))
            // SQLite numbers rows that follow the last one itself, and then need not check whether
            // such a row exists: that saves a tenth of a row's cost.
            let follows =
                sqlite3_last_insert_rowid(db.sqliteConnection) + 1 == first
                && last - first + 1 == count
            for index in 0..<count {
                let column = CInt(index * (self.hasStays ? 13 : 11))
                if follows {
                    sqlite3_bind_null(statement, column + 1)
                } else {
                    sqlite3_bind_int64(statement, column + 1, Int64(rows[start + index].seq))
                }
                Self.bind(rows[start + index], statement, column)
                if self.hasStays {
                    Self.bindStay(of: rows[start + index], statement, column + 11)
                }
            }
            let result = sqlite3_step(statement)
            guard result == SQLITE_DONE else {
                // Read before the reset, while it still describes the step.
                let message = db.lastErrorMessage
                sqlite3_reset(statement)
                throw DatabaseError(resultCode: ResultCode(rawValue: result), message: message)
            }
            sqlite3_reset(statement)
            guard sqlite3_last_insert_rowid(db.sqliteConnection) == last else {
                throw DatabaseError(
                    resultCode: .SQLITE_CORRUPT,
                    message: "change \(first - 1) is not the last one any more; "
                        + "another program has written to the database"
                )
            }
        }
    }

    /// Binds the row to the columns after `column`, except for the first.
    private static func bind(_ row: NewRow, _ statement: OpaquePointer, _ column: CInt) {
        sqlite3_bind_int64(statement, column + 2, row.at.microseconds)
        row.new.bind(to: statement, column + 3)
        if let old = row.old {
            old.bind(to: statement, column + 5)
        } else {
            sqlite3_bind_null(statement, column + 5)
            sqlite3_bind_null(statement, column + 6)
        }
        if let peer = row.by {
            sqlite3_bind_int64(statement, column + 7, Int64(peer.uid))
            sqlite3_bind_int64(statement, column + 8, Int64(peer.pid))
        } else {
            sqlite3_bind_null(statement, column + 7)
            sqlite3_bind_null(statement, column + 8)
        }
        Self.bind(row.cause, statement, column + 9)
        Self.bind(row.by?.program?.commText, statement, column + 10)
        Self.bind(row.by?.program?.unitText, statement, column + 11)
    }

    /// Binds the columns that only a machine with stays has, after `column`.
    private static func bindStay(
        of row: NewRow,
        _ statement: OpaquePointer,
        _ column: CInt
    ) {
        if let stay = row.stay {
            sqlite3_bind_int64(statement, column + 1, Int64(stay))
        } else {
            sqlite3_bind_null(statement, column + 1)
        }
        Self.bind(row.due, statement, column + 2)
    }

    /// The text stays in place as long as the row lives: nothing is copied.
    private static func bind(
        _ text: UnsafeBufferPointer<CChar>?,
        _ statement: OpaquePointer,
        _ column: CInt
    ) {
        if let text {
            sqlite3_bind_text(statement, column, text.baseAddress, CInt(text.count), nil)
        } else {
            sqlite3_bind_null(statement, column)
        }
    }

    /// SQLite takes a copy.
    private static func bind(_ text: String?, _ statement: OpaquePointer, _ column: CInt) {
        guard var text else {
            sqlite3_bind_null(statement, column)
            return
        }
        // SQLITE_TRANSIENT, a macro that is not imported.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        text.withUTF8 { bytes in
            _ = bytes.withMemoryRebound(to: CChar.self) { characters in
                sqlite3_bind_text(
                    statement,
                    column,
                    characters.baseAddress,
                    CInt(bytes.count),
                    copied
                )
            }
        }
    }
}

import GRDB
import GRDBSQLite
import StateMachineCore

/// Transitions written, with SQLite's own calls: a row is all that a set adds to a group, and the values
/// and checks in between cost more than the row.
extension HistoryDatabase {
    /// Adds the rows; within a transaction, which is to be rolled back if this throws.
    func insert(_ transitions: [RecordedTransition], _ db: Database) throws {
        let row = try db.cachedStatement(
            sql: "INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ).sqliteStatement
        defer { sqlite3_clear_bindings(row) }
        for transition in transitions {
            sqlite3_bind_int64(row, 1, Int64(transition.seq))
            sqlite3_bind_int64(row, 2, transition.at.microseconds)
            Self.bind(transition.new.name, row, 3)
            Self.bind(transition.new.data, row, 4)
            Self.bind(transition.old?.name, row, 5)
            Self.bind(transition.old?.data, row, 6)
            Self.bind((transition.by?.uid).map(Int64.init), row, 7)
            Self.bind((transition.by?.pid).map(Int64.init), row, 8)
            Self.bind(transition.cause, row, 9)
            let result = sqlite3_step(row)
            guard result == SQLITE_DONE else {
                // Read before the reset, so that it is what SQLite says of the step.
                let message = db.lastErrorMessage
                sqlite3_reset(row)
                throw DatabaseError(resultCode: ResultCode(rawValue: result), message: message)
            }
            sqlite3_reset(row)
        }
    }

    /// SQLite takes a copy.
    private static func bind(_ text: String?, _ row: OpaquePointer, _ column: CInt) {
        guard var text else {
            sqlite3_bind_null(row, column)
            return
        }
        // SQLITE_TRANSIENT, a macro that is not imported.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        text.withUTF8 { bytes in
            _ = bytes.withMemoryRebound(to: CChar.self) { characters in
                sqlite3_bind_text(row, column, characters.baseAddress, CInt(bytes.count), copied)
            }
        }
    }

    private static func bind(_ number: Int64?, _ row: OpaquePointer, _ column: CInt) {
        if let number {
            sqlite3_bind_int64(row, column, number)
        } else {
            sqlite3_bind_null(row, column)
        }
    }
}

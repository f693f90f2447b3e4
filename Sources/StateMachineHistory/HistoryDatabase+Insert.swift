import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// Writes transitions: a set adds no more than a row to a group, so a row is bound in place.
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
        let statement = try db.statement(sql)
        // Bound texts live as long as the rows, not as long as the statement.
        defer { statement.reset() }
        for start in stride(from: rows.startIndex, to: rows.endIndex, by: count) {
            let (first, last) = (Int64(rows[start].seq), Int64(rows[start + count - 1].seq))
            // SQLite numbers rows that follow the last one itself, and then need not check whether
            // such a row exists: that saves a tenth of a row's cost.
            let follows = db.lastRow + 1 == first && last - first + 1 == count
            for index in 0..<count {
                let column = CInt(index * (self.hasStays ? 13 : 11))
                if follows {
                    statement.bindNull(column + 1)
                } else {
                    statement.bind(Int64(rows[start + index].seq), column + 1)
                }
                rows[start + index].bind(to: statement, column)
                if self.hasStays { rows[start + index].bindStay(to: statement, column + 11) }
            }
            while try statement.step() {}
            statement.restart()
            guard db.lastRow == last else {
                throw SQLiteError.corrupt(
                    "change \(first - 1) is not the last one any more; "
                        + "another program has written to the database"
                )
            }
        }
    }
}

extension HistoryDatabase.NewRow {
    /// Binds the row to the columns after `column`, except for the first.
    fileprivate func bind(to statement: Statement, _ column: CInt) {
        statement.bind(self.at.microseconds, column + 2)
        statement.bind(self.new, column + 3)
        if let old = self.old {
            statement.bind(old, column + 5)
        } else {
            statement.bindNull(column + 5)
            statement.bindNull(column + 6)
        }
        if let peer = self.by {
            statement.bind(Int64(peer.uid), column + 7)
            statement.bind(Int64(peer.pid), column + 8)
        } else {
            statement.bindNull(column + 7)
            statement.bindNull(column + 8)
        }
        statement.bind(copying: self.cause, column + 9)
        statement.bind(staying: self.by?.program?.commText, column + 10)
        statement.bind(staying: self.by?.program?.unitText, column + 11)
    }

    /// Binds the columns that only a machine with stays has, after `column`.
    fileprivate func bindStay(to statement: Statement, _ column: CInt) {
        if let stay = self.stay {
            statement.bind(Int64(stay), column + 1)
        } else {
            statement.bindNull(column + 1)
        }
        statement.bind(copying: self.due, column + 2)
    }
}

extension Statement {
    /// Binds the name to that column and the data to the next, both where they are.
    fileprivate func bind(_ state: WrittenState.Text, _ column: CInt) {
        self.bind(staying: state.name, column)
        self.bind(staying: state.data, column + 1)
    }

    fileprivate func bind(staying text: UnsafeBufferPointer<CChar>?, _ column: CInt) {
        if let text { self.bind(staying: text, column) } else { self.bindNull(column) }
    }

    fileprivate func bind(copying text: String?, _ column: CInt) {
        if let text { self.bind(text, column) } else { self.bindNull(column) }
    }
}

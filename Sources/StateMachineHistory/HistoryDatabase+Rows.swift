import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// Reads transitions from rows.
extension HistoryDatabase {
    /// How much is read at a time: bounds memory, and how long a reader keeps the next one waiting.
    ///
    /// 64 KiB is less than what a socket takes at a time, so that little is read twice. Not tuned.
    static let chunk = (rows: 512, bytes: 64 << 10)

    /// How many bytes of what states carry are compared with patterns in one go.
    ///
    /// 1 MiB: a few milliseconds of reading, for which the next reader waits.
    private static let compared = 1 << 20

    /// By name: a table of another program may have fewer columns, or another order.
    private static let columns = "seq, at, state, data, fromState, fromData, uid, pid, cause"

    /// Those, the peer's program, whether it was forced, the host, and the columns of a machine with stays; a database may lack
    /// them until it was migrated.
    var columns: String {
        let extent = self.extent
        let program = extent >= .programs ? ", comm, unit" : ", NULL, NULL"
        let forced = extent >= .forced ? ", forced" : ", NULL"
        let host = extent >= .all ? ", host" : ", NULL"
        let columns = Self.columns + program + forced + host
        guard self.hasStays else { return columns }
        return columns + (extent >= .stays ? ", stay, due" : ", NULL, NULL")
    }

    func newest(_ db: Database) throws -> RecordedTransition? {
        let sql = "SELECT \(self.columns) FROM change ORDER BY seq DESC LIMIT 1"
        // It is made again: what was due does not decide whether there is a history.
        var last = LastRow(dropsDamagedDue: true)
        let found = try db.first(sql) { row in
            try RecordedTransition(row, hasStays: self.hasStays, &last)
        }
        guard var newest = found, newest.old == nil else { return found }
        newest.old = try self.left(by: newest, &last, db)
        return newest
    }

    /// What a row left that does not say it: what the row before entered; nil if that is lost or damaged, which is no
    /// reason to withhold this one.
    private func left(
        by transition: RecordedTransition,
        _ last: inout LastRow,
        _ db: Database
    ) throws -> RecordedTransition.State? {
        guard transition.seq > 0 else { return nil }
        let seq = transition.seq - 1
        do {
            return try db.first("SELECT seq, state, data FROM change WHERE seq = ?", seq) { row in
                RecordedTransition.State(
                    name: try row.presentText(1),
                    data: try last.checked(row.presentText(2), of: seq)
                )
            }
        } catch is HistoryError {
            return nil
        }
    }

    /// Has each row say what it left: most often the row before, which says it otherwise, is beside it.
    func complete(_ rows: inout [RecordedTransition], _ db: Database) throws {
        var last = LastRow()
        for index in rows.indices where rows[index].old == nil {
            let seq = rows[index].seq
            if index > 0, rows[index - 1].seq + 1 == seq {
                rows[index].old = rows[index - 1].new
            } else if index + 1 < rows.count, rows[index + 1].seq + 1 == seq {
                rows[index].old = rows[index + 1].new
            } else {
                rows[index].old = try self.left(by: rows[index], &last, db)
            }
        }
    }

    /// As many as are read at a time, and the last row that was looked at if there may be more.
    ///
    /// With `lists`, rows have `seq`, `state` and `data` alone, and of those that one of them selects the rest is read.
    ///
    /// - Throws: `HistoryError` if the first row is damaged; those before another are read, and it comes first next time.
    func transitions(
        from rows: Statement,
        _ values: [(any StoredValue)?],
        selectedBy lists: [PatternList]?,
        _ db: Database
    ) throws -> (rows: [RecordedTransition], last: UInt64?) {
        defer { rows.reset() }
        rows.bind(values)
        var transitions: [RecordedTransition] = []
        var (bytes, compared) = (0, 0)
        var last = LastRow()
        func add(_ row: Statement) throws {
            let transition = try RecordedTransition(row, hasStays: self.hasStays, &last)
            bytes += transition.weight
            transitions.append(transition)
        }
        let whole = "SELECT \(self.columns) FROM change WHERE seq = ?"
        var seq: UInt64?
        while try rows.step() {
            do {
                let next: UInt64 = try rows.present(0)
                if let lists {
                    if try rows.isSelected(by: lists, &compared) {
                        try db.first(whole, next, read: add)
                    }
                } else {
                    try add(rows)
                }
                seq = next
            } catch is HistoryError where seq != nil {
                return (transitions, seq)
            }
            if bytes >= Self.chunk.bytes || transitions.count == Self.chunk.rows
                || compared >= Self.compared
            {
                return (transitions, seq)
            }
        }
        return (transitions, nil)
    }
}

extension Statement {
    /// Whether one of the lists selects the state that a row leads to; what is damaged is, so that whoever reads it says so.
    fileprivate func isSelected(
        by lists: [PatternList],
        _ compared: inout Int
    ) throws(HistoryError) -> Bool {
        let data = self.bytes(2)
        compared += data.count
        var state = SeenState(try self.presentText(1), data)
        return lists.contains { $0.contains { state.isCovered(by: $0) } } || state.isDamaged
    }
}

/// What the row before had, which is not made and not checked again.
private struct LastRow {
    /// Whether what was due, if it is damaged, counts as nothing.
    private let dropsDamagedDue: Bool
    var program: Program?
    /// Data that are an object.
    private var sound = "{}"
    /// What stands before the time in what was due, if the whole is an object.
    private var soundDue = ""

    init(dropsDamagedDue: Bool = false) { self.dropsDamagedDue = dropsDamagedDue }

    /// The data, which go out in lines as they are.
    ///
    /// - Throws: `HistoryError` unless they are an object on one line.
    mutating func checked(_ data: String, of seq: UInt64) throws(HistoryError) -> String {
        guard data != self.sound else { return data }
        try self.check(data, "data", of: seq)
        self.sound = data
        return data
    }

    /// What ends what was due: `,"at":"2026-11-20T21:55:03.120007Z"}`, of 36 bytes.
    private static let time = (key: #","at":""#, length: 36)

    /// What was due, which goes out in lines as it is, too: most often the same as in the last row, at another time.
    ///
    /// - Throws: `HistoryError` unless it is an object on one line.
    mutating func checked(due: String?, of seq: UInt64) throws(HistoryError) -> String? {
        guard let due else { return nil }
        do {
            try self.check(due: due, of: seq)
            return due
        } catch {
            guard self.dropsDamagedDue else { throw error }
            return nil
        }
    }

    private mutating func check(due: String, of seq: UInt64) throws(HistoryError) {
        let start = due.utf8.dropLast(Self.time.length)
        let time = due.utf8.dropFirst(start.count)
        guard time.starts(with: Self.time.key.utf8) else {
            return try self.check(due, "due", of: seq)
        }
        if !self.soundDue.isEmpty, start.elementsEqual(self.soundDue.utf8) {
            try self.check("{\(Substring(time.dropFirst()))", "due", of: seq)
        } else {
            try self.check(due, "due", of: seq)
            self.soundDue = String(Substring(start))
        }
    }

    private func check(_ text: String, _ column: String, of seq: UInt64) throws(HistoryError) {
        guard text.utf8.contains(where: { $0 < 0x20 }) || JSONValue(parsing: text)?.members == nil
        else { return }
        throw HistoryError(
            damaged: "the \(column) of change \(seq) is not a JSON object: \(text.excerpt())"
        )
    }
}

extension WallTime {
    /// The times that a row may have, which are those that a line can show: from 1970 to 9999.
    fileprivate static let recorded = 0...253_402_300_799_999_999 as ClosedRange<Int64>
}

extension RecordedTransition {
    /// The transition of a row; what was in the one before is often in it too.
    ///
    /// - Throws: `HistoryError` if the row, written by something else, has what no transition has.
    fileprivate init(_ row: Statement, hasStays: Bool, _ last: inout LastRow) throws {
        let name = row.text(4)
        let (uid, pid): (UInt32?, Int32?) = (try row.value(6), try row.value(7))
        let (comm, unit) = (row.text(9), row.text(10))
        if comm != last.program?.comm || unit != last.program?.unit {
            last.program = comm == nil && unit == nil ? nil : Program(comm: comm, unit: unit)
        }
        let program = last.program
        let seq: UInt64 = try row.present(0)
        guard seq < 1 << 53 else {
            throw HistoryError(damaged: "the number of change \(seq) is not below 2^53")
        }
        let at: Int64 = try row.present(1)
        guard WallTime.recorded.contains(at) else {
            throw HistoryError(damaged: "the time of change \(seq) is out of range: \(at)")
        }
        let old = try name.map {
            State(name: $0, data: try last.checked(row.presentText(5), of: seq))
        }
        let new = State(
            name: try row.presentText(2),
            data: try last.checked(row.presentText(3), of: seq)
        )
        self.init(
            seq: seq,
            old: old,
            new: new,
            at: WallTime(microseconds: at),
            cause: row.text(8),
            by: uid.flatMap { uid in pid.map { Peer(uid: uid, pid: $0, program: program) } },
            host: row.text(12),
            isForced: !row.isNull(11),
            stay: hasStays ? try row.value(13) ?? seq : nil,
            due: hasStays ? try last.checked(due: row.text(14), of: seq) : nil
        )
    }

    /// Approximate length of its line in bytes.
    fileprivate var weight: Int {
        200 + self.new.data.utf8.count + (self.old ?? self.new).data.utf8.count
            + (self.by?.comm?.utf8.count ?? 0) + (self.by?.unit?.utf8.count ?? 0)
            + (self.cause?.utf8.count ?? 0) + (self.due?.utf8.count ?? 0)
            + (self.host?.utf8.count ?? 0)
    }
}

extension Statement {
    /// The number in a column; nil if there is none.
    ///
    /// - Throws: `HistoryError` if there is something else.
    func value<Value: FixedWidthInteger>(_ column: CInt) throws(HistoryError) -> Value? {
        guard !self.isNull(column) else { return nil }
        guard self.isInteger(column), let value = Value(exactly: self.integer(column)) else {
            let stored = self.text(column) ?? ""
            let key = self.text(0) ?? ""
            let row = self.name(0) == "seq" ? "change \(key)" : "\(self.name(0)) \(key)"
            throw HistoryError(
                damaged:
                    "column \(self.name(column)) of \(row) holds \(stored.quoted), which is not a number that fits"
            )
        }
        return value
    }

    func present<Value: FixedWidthInteger>(_ column: CInt) throws(HistoryError) -> Value {
        try self.present(try self.value(column), column)
    }

    func presentText(_ column: CInt) throws(HistoryError) -> String {
        try self.present(self.text(column), column)
    }

    private func present<Value>(_ value: Value?, _ column: CInt) throws(HistoryError) -> Value {
        guard let value else {
            throw HistoryError(
                damaged: "column \(self.name(column)) is empty in a row of the history"
            )
        }
        return value
    }
}

/// Writes changes: a set adds no more than a row to a group, so a row is bound in place.
extension HistoryDatabase {
    /// A change that is to be written, and what its row says beside it.
    struct NewRow {
        let change: Change
        /// The state that was entered, as it is sent.
        let new: Encoded
        /// The one that was left, unless the row before says that.
        let old: RecordedTransition.State?
        /// What time is to do to the new one, and when; nil if nothing.
        let due: String?

        /// Binds it to the columns after `column`, except for the first; what is not bound is null.
        fileprivate func bind(to statement: Statement, _ column: CInt) {
            let change = self.change
            statement.bind(change.at.microseconds, column + 2)
            statement.bind(change.new.name, column + 3)
            self.new.withData { statement.bind($0, column + 4) }
            if let cause = change.cause { statement.bind(cause, column + 7) }
            guard let peer = change.setter else { return }
            statement.bind(Int64(peer.uid), column + 5)
            statement.bind(Int64(peer.pid), column + 6)
            statement.bind(peer.comm, column + 8)
            statement.bind(peer.unit, column + 9)
        }

        /// Binds the columns that only a machine with stays has, after `column`.
        fileprivate func bindStay(to statement: Statement, _ column: CInt) {
            // The seq that began the stay; null if that is its own.
            if !self.change.beginsStay { statement.bind(Int64(self.change.stay), column + 1) }
            if let due { statement.bind(due, column + 2) }
        }
    }

    /// Adds the rows; within a transaction, which is to be rolled back if this throws.
    func insert(_ rows: [NewRow], _ db: Database) throws {
        // In place: an array's elements, or a slice's, would be copied when read.
        try rows.withUnsafeBufferPointer { rows in
            let several = rows.count / Self.rowsAtOnce * Self.rowsAtOnce
            try self.insert(rows, 0..<several, Self.rowsAtOnce, by: self.insertions.ofSeveral, db)
            try self.insert(rows, several..<rows.count, 1, by: self.insertions.ofOne, db)
        }
    }

    /// Adds the row of a transition that was made or read by opening the history, or by others; within a transaction.
    func insert(_ transition: RecordedTransition, _ db: Database) throws {
        let by = transition.by
        let stay = transition.stay.flatMap { $0 == transition.seq ? nil : $0 }
        try db.run(
            """
            INSERT INTO change
                (seq, at, state, data, fromState, fromData, uid, pid, cause, comm, unit, stay, due, forced, host)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            transition.seq,
            transition.at.microseconds,
            transition.new.name,
            transition.new.data,
            transition.old?.name,
            transition.old?.data,
            by?.uid,
            by?.pid,
            transition.cause,
            by?.comm,
            by?.unit,
            stay,
            transition.due,
            transition.isForced ? 1 : nil,
            transition.host
        )
    }

    /// How many rows one statement adds.
    ///
    /// 16: measured with groups of 128, where it saves a fifth of a row's cost; twice as many save
    /// no more.
    static let rowsAtOnce = 16

    /// The columns that are bound: a machine without stays does not use all.
    private var width: Int { self.hasStays ? 11 : 9 }

    /// The statement that adds so many rows.
    func insertion(of count: Int) -> String {
        let stay = self.hasStays ? ", stay, due" : ""
        let row = Array(repeating: "?", count: self.width).joined(separator: ", ")
        let rows = Array(repeating: "(\(row))", count: count).joined(separator: ", ")
        return
            "INSERT INTO change (seq, at, state, data, uid, pid, cause, comm, unit\(stay)) VALUES \(rows)"
    }

    /// Adds the rows of that range with a statement that adds `count` at a time; their number is a multiple of
    /// it.
    private func insert(
        _ rows: UnsafeBufferPointer<NewRow>,
        _ range: Range<Int>,
        _ count: Int,
        by sql: String,
        _ db: Database
    ) throws {
        guard !range.isEmpty else { return }
        let statement = try db.statement(sql)
        for start in stride(from: range.lowerBound, to: range.upperBound, by: count) {
            defer { statement.reset() }
            let first = Int64(rows[start].change.seq)
            let last = Int64(rows[start + count - 1].change.seq)
            // SQLite numbers rows that follow the last one itself, and then need not check whether
            // such a row exists: that saves a tenth of a row's cost.
            let follows = db.lastRow + 1 == first && last - first + 1 == count
            for index in 0..<count {
                let column = CInt(index * self.width)
                if !follows { statement.bind(Int64(rows[start + index].change.seq), column + 1) }
                rows[start + index].bind(to: statement, column)
                if self.hasStays { rows[start + index].bindStay(to: statement, column + 9) }
            }
            while try statement.step() {}
            guard db.lastRow == last else {
                throw SQLiteError.corrupt(
                    "another program has written to the database: "
                        + "change \(first - 1) is no longer the last one; stop that program"
                )
            }
            for index in start..<start + count {
                // Few are: the others bind no column for it.
                if rows[index].change.origin?.isForced == true {
                    try db.run(
                        "UPDATE change SET forced = 1 WHERE seq = ?",
                        rows[index].change.seq
                    )
                }
                guard let old = rows[index].old else { continue }
                try db.run(
                    "UPDATE change SET fromState = ?, fromData = ? WHERE seq = ?",
                    old.name,
                    old.data,
                    rows[index].change.seq
                )
            }
        }
    }
}

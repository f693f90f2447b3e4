import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// Reads transitions from rows.
extension HistoryDatabase {
    /// How much is read at a time: bounds memory, and how long a reader keeps the next one waiting.
    ///
    /// 64 KiB is less than what a socket takes at a time, so that little is read twice. Not tuned.
    static let chunk = (rows: 512, bytes: 64 << 10)

    /// By name: a table of another program may have fewer columns, or another order.
    private static let columns = "seq, at, state, data, fromState, fromData, uid, pid, cause"

    /// Those, the peer's program, and the columns of a machine with stays; a database may lack them
    /// until it was migrated.
    var columns: String {
        let extent = self.extent
        let program = extent >= .all ? ", comm, unit" : ", NULL, NULL"
        guard self.hasStays else { return Self.columns + program }
        return Self.columns + program + (extent >= .stays ? ", stay, due" : ", NULL, NULL")
    }

    func newest(_ db: Database) throws -> RecordedTransition? {
        try db.first("SELECT \(self.columns) FROM change ORDER BY seq DESC LIMIT 1") { row in
            var last = LastRow()
            return try RecordedTransition(row, hasStays: self.hasStays, &last)
        }
    }

    /// The next few transitions after `seq`.
    func read(after seq: UInt64) throws -> [RecordedTransition] {
        try self.read { db in
            let sql = "SELECT \(self.columns) FROM change WHERE seq > ? ORDER BY seq LIMIT ?"
            return try self.transitions(from: db.statement(sql), [seq, Self.chunk.rows]).rows
        }
    }

    /// As many as are read at a time, and whether there may be more.
    func transitions(
        from rows: Statement,
        _ values: [(any StoredValue)?]
    ) throws -> (rows: [RecordedTransition], isCut: Bool) {
        defer { rows.reset() }
        rows.bind(values)
        var transitions: [RecordedTransition] = []
        var bytes = 0
        var last = LastRow()
        while bytes < Self.chunk.bytes, try rows.step() {
            let transition = try RecordedTransition(rows, hasStays: self.hasStays, &last)
            bytes += transition.weight
            transitions.append(transition)
        }
        return (transitions, bytes >= Self.chunk.bytes || transitions.count == Self.chunk.rows)
    }
}

/// What the row before had, which is not made and not checked again.
private struct LastRow {
    var program: Program?
    /// Data that are an object.
    private var sound = "{}"

    /// The data, which go out in lines as they are.
    ///
    /// - Throws: `HistoryError` unless they are an object on one line.
    mutating func checked(_ data: String, of seq: UInt64) throws(HistoryError) -> String {
        guard data != self.sound else { return data }
        guard !data.utf8.contains(where: { $0 < 0x20 }), JSONValue(parsing: data)?.members != nil
        else {
            throw HistoryError(
                damaged: "the row of change \(seq) has data that are no object: \(data.excerpt())"
            )
        }
        self.sound = data
        return data
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
            throw HistoryError(damaged: "the row of change \(seq) has no such number")
        }
        let at: Int64 = try row.present(1)
        guard WallTime.recorded.contains(at) else {
            throw HistoryError(damaged: "the row of change \(seq) is of no time: \(at)")
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
            stay: hasStays ? try row.value(11) ?? seq : nil,
            due: hasStays ? row.text(12) : nil
        )
    }

    /// Approximate length of its line in bytes.
    fileprivate var weight: Int {
        200 + self.new.data.utf8.count + (self.old?.data.utf8.count ?? 0)
            + (self.by?.comm?.utf8.count ?? 0) + (self.by?.unit?.utf8.count ?? 0)
            + (self.cause?.utf8.count ?? 0) + (self.due?.utf8.count ?? 0)
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
                damaged: "the row of \(row) has \(stored.quoted) in column \(self.name(column))"
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
                damaged: "a row of the history has nothing in column \(self.name(column))"
            )
        }
        return value
    }
}

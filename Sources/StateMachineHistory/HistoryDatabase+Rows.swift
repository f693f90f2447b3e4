import GRDB
import StateMachineCore
import StateMachineProtocol

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
        // Not `fetchOne`, whose copy of the row ends a text at U+0000.
        try Row.fetchCursor(
            db,
            sql: "SELECT \(self.columns) FROM change ORDER BY seq DESC LIMIT 1"
        )
        .map { row in
            var program: Program?
            return try RecordedTransition(row, hasStays: self.hasStays, &program)
        }.next()
    }

    /// The next few transitions after `seq`.
    func read(after seq: UInt64) throws -> [RecordedTransition] {
        try self.pool.read { db in
            let statement = try db.cachedStatement(
                sql: "SELECT \(self.columns) FROM change WHERE seq > ? ORDER BY seq LIMIT ?"
            )
            return try self.transitions(
                from: Row.fetchCursor(statement, arguments: [seq, Self.chunk.rows])
            ).rows
        }
    }

    /// As many as are read at a time, and whether there may be more.
    func transitions(
        from rows: RowCursor
    ) throws -> (rows: [RecordedTransition], isCut: Bool) {
        var transitions: [RecordedTransition] = []
        var bytes = 0
        var program: Program?
        while bytes < Self.chunk.bytes, let row = try rows.next() {
            let transition = try RecordedTransition(row, hasStays: self.hasStays, &program)
            bytes += transition.weight
            transitions.append(transition)
        }
        return (transitions, bytes >= Self.chunk.bytes || transitions.count == Self.chunk.rows)
    }
}

extension RecordedTransition {
    /// The transition of a row; `last` is the program of the one before, which is often the same.
    ///
    /// - Throws: `HistoryError` if the row, written by something else, has what no transition has.
    fileprivate init(_ row: Row, hasStays: Bool, _ last: inout Program?) throws {
        let old = try row.text(4)
        let (uid, pid): (UInt32?, Int32?) = (try row.value(6), try row.value(7))
        let (comm, unit) = (try row.text(9), try row.text(10))
        if comm != last?.comm || unit != last?.unit {
            last = comm == nil && unit == nil ? nil : Program(comm: comm, unit: unit)
        }
        let program = last
        let seq: UInt64 = try row.present(0)
        self.init(
            seq: seq,
            old: try old.map { State(name: $0, data: try row.presentText(5)) },
            new: State(name: try row.presentText(2), data: try row.presentText(3)),
            at: WallTime(microseconds: try row.present(1)),
            cause: try row.text(8),
            by: uid.flatMap { uid in pid.map { Peer(uid: uid, pid: $0, program: program) } },
            stay: hasStays ? try row.value(11) ?? seq : nil,
            due: hasStays ? try row.text(12) : nil
        )
    }

    /// Approximate length of its line in bytes.
    fileprivate var weight: Int {
        200 + self.new.data.utf8.count + (self.old?.data.utf8.count ?? 0)
            + (self.by?.comm?.utf8.count ?? 0) + (self.by?.unit?.utf8.count ?? 0)
            + (self.cause?.utf8.count ?? 0) + (self.due?.utf8.count ?? 0)
    }
}

extension Row {
    func value<Value: DatabaseValueConvertible>(_ column: Int) throws -> Value? {
        let stored: DatabaseValue = self[column]
        guard !stored.isNull else { return nil }
        guard let value = Value.fromDatabaseValue(stored) else {
            let name = Array(self.columnNames)[column]
            let first = Array(self.columnNames)[0]
            let key: DatabaseValue = self[0]
            let row = first == "seq" ? "the row of change \(key)" : "the row of \(first) \(key)"
            throw HistoryError("\(row) has \(stored) in column \(name)")
        }
        return value
    }

    func present<Value: DatabaseValueConvertible>(_ column: Int) throws -> Value {
        try self.present(try self.value(column), column)
    }

    /// The whole text: it may contain U+0000, where GRDB's strings end.
    func text(_ column: Int) throws -> String? {
        try self.withUnsafeData(atIndex: column) { bytes in
            bytes.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    func presentText(_ column: Int) throws -> String {
        try self.present(try self.text(column), column)
    }

    private func present<Value>(_ value: Value?, _ column: Int) throws -> Value {
        guard let value else {
            let name = Array(self.columnNames)[column]
            throw HistoryError("a row of the history has nothing in column \(name)")
        }
        return value
    }
}

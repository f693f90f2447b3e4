import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// Searches transitions in SQLite: only wanted ones are read.
extension HistoryDatabase {
    /// How many rows are examined in one go if not all are wanted.
    ///
    /// 8192: SQLite skips that many in a few milliseconds, for which the next reader waits.
    private static let lookedAt: UInt64 = 8192

    /// The first few transitions that a query asks for.
    ///
    /// Rows are stored in seq order, which is used for the lookup; within that range, `uid`,
    /// `cause` and the names are checked row by row.
    func find(_ query: TransitionQuery) throws -> TransitionFinding {
        guard query.before > query.after + 1 else {
            return TransitionFinding([], examined: query.isNewestFirst ? query.before : query.after)
        }
        let span = query.isSelective ? Self.lookedAt : UInt64(Self.chunk.rows)
        return try self.read { db in
            var (low, high) = (query.after, query.before)
            // Where rows are missing, it begins with the next one that there is.
            guard let next = try self.next(of: query, db) else {
                return TransitionFinding(
                    [],
                    examined: query.isNewestFirst ? low + 1 : high - 1,
                    hasGap: true
                )
            }
            let hasGap: Bool
            if query.isNewestFirst {
                hasGap = next + 1 < high
                high = next + 1
                low = high - low > span ? high - span : low
            } else {
                hasGap = next > low + 1
                low = next - 1
                high = high - low > span ? low + span : high
            }
            let transitions = try self.transitions(of: query, between: low, and: high, db)
            let isCut = transitions.isCut
            // What was cut off is left to the next query.
            let last = transitions.rows.last?.seq
            if isCut, let last {
                if query.isNewestFirst { low = last - 1 } else { high = last + 1 }
            }
            return TransitionFinding(
                transitions.rows,
                examined: query.isNewestFirst ? low + 1 : high - 1,
                hasGap: try hasGap || self.count(between: low, and: high, db) < high - low - 1
            )
        }
    }

    /// The first row that a query comes to, whatever it asks for; nil if there is none.
    private func next(of query: TransitionQuery, _ db: Database) throws -> UInt64? {
        try db.first(
            """
            SELECT seq FROM change WHERE seq > ? AND seq < ? \
            ORDER BY seq \(query.isNewestFirst ? "DESC" : "ASC") LIMIT 1
            """,
            query.after,
            query.before
        ) { try $0.present(0) }
    }

    private func transitions(
        of query: TransitionQuery,
        between low: UInt64,
        and high: UInt64,
        _ db: Database
    ) throws -> (rows: [RecordedTransition], isCut: Bool) {
        var conditions = ["seq > ?", "seq < ?"]
        var values: [(any StoredValue)?] = [low, high]
        if let uid = query.uid {
            conditions.append("uid = ?")
            values += [uid]
        }
        if let program = query.program {
            if self.extent >= .all {
                conditions.append(
                    "(comm = ? OR unit = ? OR substr(unit, instr(unit, '/') + 1) = ?)"
                )
                values += [program, program, program]
            } else {
                // Rows of an older version have no program.
                conditions.append("0")
            }
        }
        if let cause = query.cause {
            conditions.append("instr(CAST(cause AS BLOB), CAST(? AS BLOB)) > 0")
            values += [cause]
        }
        if let names = query.names {
            let marks = Array(repeating: "?", count: names.count).joined(separator: ", ")
            conditions.append("state IN (\(marks))")
            values += names
        }
        values += [Self.chunk.rows]
        let statement = try db.statement(
            """
            SELECT \(self.columns) FROM change WHERE \(conditions.joined(separator: " AND ")) \
            ORDER BY seq \(query.isNewestFirst ? "DESC" : "ASC") LIMIT ?
            """
        )
        return try self.transitions(from: statement, values)
    }

    private func count(between low: UInt64, and high: UInt64, _ db: Database) throws -> UInt64 {
        let sql = "SELECT count(*) FROM change WHERE seq > ? AND seq < ?"
        return try db.first(sql, low, high) { UInt64(clamping: $0.integer(0)) } ?? 0
    }

    /// The first transition from `first` to `last` made at `time` or later; one past them if there
    /// is none.
    ///
    /// A binary search: it examines some twenty rows out of a million.
    func locate(_ time: WallTime, from first: UInt64, to last: UInt64) throws -> UInt64 {
        try self.read { db in
            let sql = "SELECT seq, at FROM change WHERE seq >= ? ORDER BY seq LIMIT 1"
            var (first, end) = (first, last + 1)
            while first < end {
                let middle = first + (end - first) / 2
                let found = try db.first(sql, middle) {
                    (seq: UInt64(clamping: $0.integer(0)), at: $0.integer(1))
                }
                if let found, found.seq <= last, found.at < time.microseconds {
                    first = found.seq + 1
                } else {
                    end = middle
                }
            }
            return first
        }
    }
}

extension HistoryDatabase {
    /// An outline of the first few transitions between two others.
    func outline(
        after low: UInt64,
        before high: UInt64,
        limit: Int
    ) throws -> TransitionOutline {
        let stay = self.hasStays && self.extent >= .stays ? "stay" : "NULL"
        return try self.read { db in
            let rows = try db.statement(
                """
                SELECT seq, at, state, \(stay) FROM change WHERE seq > ? AND seq < ? \
                ORDER BY seq LIMIT ?
                """
            )
            defer { rows.reset() }
            rows.bind([low, high, limit])
            guard try rows.step() else {
                // One past those requested: nothing is left.
                return TransitionOutline(from: high)
            }
            var seq = UInt64(clamping: rows.integer(0))
            var outline = TransitionOutline(from: seq)
            outline.hasGap = seq > low + 1
            repeat {
                outline.append(
                    rows.bytes(2),
                    at: WallTime(microseconds: rows.integer(1)),
                    isSameStay: !rows.isNull(3) && rows.integer(3) != Int64(seq)
                )
                seq += 1
                // What follows a gap is left to the next query, which reports the gap.
            } while try rows.step() && UInt64(clamping: rows.integer(0)) == seq
            return outline
        }
    }
}

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
    /// `cause` and the names are checked row by row, and of those what the state carries, where patterns ask for it.
    func read(_ query: TransitionQuery) throws -> TransitionFinding {
        guard query.before > query.after + 1 else { return TransitionFinding(nothingFor: query) }
        if let limit = query.outlined { return try self.outline(query, limit: limit) }
        let span = query.isSelective ? Self.lookedAt : UInt64(Self.chunk.rows)
        return try self.read { db in
            guard let first = try self.next(of: query, db) else {
                return TransitionFinding(nothingFor: query)
            }
            var (low, high) = (query.after, query.before)
            if query.isNewestFirst {
                high = first + 1
                low = high - low > span ? high - span : low
            } else {
                low = first - 1
                high = high - low > span ? low + span : high
            }
            var (rows, last) = try self.transitions(of: query, between: low, and: high, db)
            try self.complete(&rows, db)
            // What was cut off is left to the next query.
            if let last {
                if query.isNewestFirst { low = last - 1 } else { high = last + 1 }
            }
            let count =
                query.isSelective
                ? try self.count(between: low, and: high, db) : UInt64(rows.count)
            if count < high - low - 1 {
                let last = try self.lastBeforeGap(from: first, query.isNewestFirst, db)
                if query.isNewestFirst { low = last - 1 } else { high = last + 1 }
                rows.removeAll { $0.seq <= low || $0.seq >= high }
            }
            let examined = query.isNewestFirst ? low + 1 : high - 1
            return TransitionFinding(rows, first: first, examined: examined)
        }
    }

    /// The row beyond which the next one is missing, from a row on.
    private func lastBeforeGap(
        from first: UInt64,
        _ isNewestFirst: Bool,
        _ db: Database
    ) throws -> UInt64 {
        let (direction, order, step) = isNewestFirst ? ("<=", "DESC", "-") : (">=", "ASC", "+")
        let sql = """
            SELECT seq FROM change AS this WHERE seq \(direction) ? \
            AND NOT EXISTS (SELECT 1 FROM change WHERE seq = this.seq \(step) 1) \
            ORDER BY seq \(order) LIMIT 1
            """
        return try db.first(sql, first) { try $0.present(0) } ?? first
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
    ) throws -> (rows: [RecordedTransition], last: UInt64?) {
        var conditions = ["seq > ?", "seq < ?"]
        var values: [(any StoredValue)?] = [low, high]
        if let uid = query.origin.uid {
            conditions.append("uid = ?")
            values += [uid]
        }
        if let program = query.origin.program {
            if self.extent >= .programs {
                conditions.append(
                    "(comm = ? OR unit = ? OR substr(unit, instr(unit, '/') + 1) = ?)"
                )
                values += [program, program, program]
            } else {
                // Rows of an older version have no program.
                conditions.append("0")
            }
        }
        if let cause = query.origin.cause {
            conditions.append("instr(CAST(cause AS BLOB), CAST(? AS BLOB)) > 0")
            values += [cause]
        }
        if let names = query.names {
            let marks = Array(repeating: "?", count: names.count).joined(separator: ", ")
            conditions.append("state IN (\(marks))")
            values += names
        }
        let lists = query.only.flatMap { $0.allSatisfy(\.isOfNames) ? nil : $0 }
        let columns = lists == nil ? self.columns : "seq, state, data"
        let statement = try db.statement(
            """
            SELECT \(columns) FROM change WHERE \(conditions.joined(separator: " AND ")) \
            ORDER BY seq \(query.isNewestFirst ? "DESC" : "ASC")
            """
        )
        return try self.transitions(from: statement, values, selectedBy: lists, db)
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

    /// An outline of the first few transitions between a query's ends.
    private func outline(_ query: TransitionQuery, limit: Int) throws -> TransitionFinding {
        let stay = self.hasStays && self.extent >= .stays ? "stay" : "NULL"
        return try self.read { db in
            let rows = try db.statement(
                """
                SELECT seq, at, state, \(stay) FROM change WHERE seq > ? AND seq < ? \
                ORDER BY seq LIMIT ?
                """
            )
            defer { rows.reset() }
            rows.bind([query.after, query.before, limit])
            guard try rows.step() else { return TransitionFinding(nothingFor: query) }
            var seq = UInt64(clamping: rows.integer(0))
            var outline = TransitionOutline(from: seq)
            repeat {
                outline.append(
                    rows.text(2) ?? "",
                    at: WallTime(microseconds: rows.integer(1)),
                    isSameStay: !rows.isNull(3) && rows.integer(3) != Int64(seq)
                )
                seq += 1
                // What follows a gap is left to the next query.
            } while try rows.step() && UInt64(clamping: rows.integer(0)) == seq
            return TransitionFinding(outline)
        }
    }
}

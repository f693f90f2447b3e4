import GRDB
import StateMachineCore

/// Since when the newest stay counts, as it is noted: one row.
struct NotedStay: Hashable {
    let start: StayStart
    /// The start of the machine whose uptime that is; nil if that was not known.
    let boot: String?

    /// - Throws: what SQLite has to say.
    static func read(_ db: Database) throws -> NotedStay? {
        let sql = "SELECT seq, boot, uptime, wall, origin FROM stay WHERE id = 1"
        guard let row = try Row.fetchOne(db, sql: sql),
            let seq = UInt64.fromDatabaseValue(row["seq"])
        else { return nil }
        let origin: Int64? = row["origin"]
        return NotedStay(
            start: StayStart(
                stay: seq,
                moment: StayMoment(
                    uptime: row["uptime"],
                    wall: WallTime(microseconds: row["wall"])
                ),
                origin: origin.map { WallTime(microseconds: $0) }
            ),
            boot: row["boot"]
        )
    }
}

extension HistoryDatabase {
    /// Notes since when a stay counts that has just begun, or with which a run begins; within a transaction.
    func note(_ start: StayStart, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO stay VALUES (1, ?, ?, ?, ?, ?)")
            .execute(arguments: self.columns(of: start))
    }

    /// Notes since when a stay counts, unless another has begun.
    func keep(_ start: StayStart) throws {
        try self.write { db in
            let sql = """
                UPDATE stay SET seq = ?, boot = ?, uptime = ?, wall = ?, origin = ? WHERE seq = ?
                """
            try db.cachedStatement(sql: sql)
                .execute(arguments: self.columns(of: start) + [start.stay])
        }
    }

    private func columns(of start: StayStart) -> StatementArguments {
        [
            start.stay, self.boot, start.moment.uptime, start.moment.wall.microseconds,
            start.origin?.microseconds,
        ]
    }
}

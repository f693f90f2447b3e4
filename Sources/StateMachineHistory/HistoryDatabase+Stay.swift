import GRDB
import StateMachineCore

/// The recorded start of the newest stay: one row.
struct NotedStay: Hashable {
    let start: StayStart
    /// The boot to which the uptime belongs; nil if that was not known.
    let boot: String?

    /// - Throws: SQLite's error.
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
    /// Records the start of a stay that has just begun, or of a run's first stay; within a
    /// transaction.
    func note(_ start: StayStart, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO stay VALUES (1, ?, ?, ?, ?, ?)")
            .execute(arguments: self.columns(of: start))
    }

    /// Records the start of a stay, unless another has begun.
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

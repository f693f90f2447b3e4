import StateMachineCore
import StateMachineSQLite

/// The recorded start of the newest stay: one row.
struct NotedStay: Hashable {
    let start: StayStart
    /// The boot to which the uptime belongs; nil if that was not known.
    let boot: String?

    /// - Throws: SQLite's error.
    static func read(_ db: Database) throws -> NotedStay? {
        let sql = "SELECT seq, boot, uptime, wall, origin FROM stay WHERE id = 1"
        return try db.first(sql) { row in
            NotedStay(
                start: StayStart(
                    stay: UInt64(clamping: row.integer(0)),
                    moment: StayMoment(
                        uptime: row.integer(2),
                        wall: WallTime(microseconds: row.integer(3))
                    ),
                    origin: try row.value(4).map { WallTime(microseconds: $0) }
                ),
                boot: row.text(1)
            )
        }
    }
}

extension HistoryDatabase {
    /// Records the start of a stay that has just begun, or of a run's first stay; within a
    /// transaction.
    ///
    /// Unless it is new, only if it is the recorded one's.
    func note(_ start: StayStart, _ db: Database, isNew: Bool = true) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO stay SELECT 1, ?1, ?2, ?3, ?4, ?5
                WHERE ?6 OR EXISTS (SELECT 1 FROM stay WHERE seq = ?1)
            """,
            start.stay,
            self.boot,
            start.moment.uptime,
            start.moment.wall.microseconds,
            start.origin?.microseconds,
            isNew ? 1 : 0
        )
    }
}

import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// The recorded start of the newest stay: one row, and one for each of the times of which something is known.
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
                    origin: try row.value(4).map { WallTime(microseconds: $0) },
                    groups: try self.groups(db)
                ),
                boot: row.text(1)
            )
        }
    }

    /// From when on times of groups count.
    private static func groups(_ db: Database) throws -> [StayStart] {
        guard try db.hasTable("timer") else { return [] }
        let sql = """
            SELECT DISTINCT entered, uptime, wall, origin FROM timer
                WHERE entered IS NOT NULL AND uptime IS NOT NULL AND wall IS NOT NULL
            """
        return try db.all(sql) { row in
            StayStart(
                stay: UInt64(clamping: row.integer(0)),
                moment: StayMoment(
                    uptime: row.integer(1),
                    wall: WallTime(microseconds: row.integer(2))
                ),
                origin: try row.value(3).map { WallTime(microseconds: $0) }
            )
        }
    }

    /// What is known of the present state's times.
    static func times(_ db: Database) throws -> [KnownTime] {
        guard try db.hasTable("timer") else { return [] }
        return try db.all("SELECT key, entered, value, passed FROM timer ORDER BY rowid") { row in
            let entered: Int64? = try row.value(1)
            return KnownTime(
                try row.presentText(0),
                group: entered.map { UInt64(clamping: $0) },
                value: row.text(2).flatMap { JSONValue(parsing: $0) },
                hasPassed: row.integer(3) != 0
            )
        }
    }
}

extension HistoryDatabase {
    /// Records what is known of the present state's times, in place of what is there, and from when on those of groups
    /// count; within a transaction.
    func note(_ times: [KnownTime], since start: StayStart?, _ db: Database) throws {
        try db.run("DELETE FROM timer")
        for time in times {
            try db.run(
                "INSERT INTO timer VALUES (?, ?, ?, ?, NULL, NULL, NULL)",
                time.key,
                time.group,
                time.value?.description,
                time.hasPassed ? 1 : 0
            )
        }
        for group in Set(times.compactMap(\.group)) {
            guard let start = start?.start(ofGroupAt: group) else { continue }
            try self.correct(start, ofGroupAt: group, db)
        }
    }

    private func correct(_ start: StayStart, ofGroupAt seq: UInt64, _ db: Database) throws {
        try db.run(
            "UPDATE timer SET uptime = ?2, wall = ?3, origin = ?4 WHERE entered = ?1",
            seq,
            start.moment.uptime,
            start.moment.wall.microseconds,
            start.origin?.microseconds
        )
    }

    /// Records the start of a stay that has just begun, or of a run's first stay; within a
    /// transaction.
    ///
    /// Unless it is new, only if it is the recorded one's.
    func note(_ start: StayStart, _ db: Database, isNew: Bool = true) throws {
        try self.note(start, in: self.boot, db, isNew: isNew)
    }

    /// Records the times of the present stay of a machine that several hosts share; within a transaction.
    ///
    /// They count by the wall clock, in whatever boot.
    func note(_ times: StayTimes, _ db: Database) throws {
        try self.note(times.start, in: nil, db, isNew: true)
        try self.note(times.known, since: times.start, db)
    }

    private func note(
        _ start: StayStart,
        in boot: String?,
        _ db: Database,
        isNew: Bool
    ) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO stay SELECT 1, ?1, ?2, ?3, ?4, ?5
                WHERE ?6 OR EXISTS (SELECT 1 FROM stay WHERE seq = ?1)
            """,
            start.stay,
            boot,
            start.moment.uptime,
            start.moment.wall.microseconds,
            start.origin?.microseconds,
            isNew ? 1 : 0
        )
        for group in start.groups { try self.correct(group, ofGroupAt: group.stay, db) }
    }
}

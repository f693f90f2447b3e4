import GRDB
import StateMachineCore

/// Which guards are required: a row for each.
extension HistoryDatabase {
    func requirements(_ db: Database) throws -> [Requirement] {
        guard try db.tableExists("required") else { return [] }
        let program = try Schema.Extent.of(db) >= .all ? "comm, unit" : "NULL AS comm, NULL AS unit"
        let sql = """
            SELECT name, uid, pid, since, missing, request, \(program) FROM required ORDER BY name
            """
        return try Row.fetchAll(db, sql: sql).map { row in
            let missing: Int64? = row["missing"]
            return Requirement(
                name: row["name"],
                peer: Peer(
                    uid: row["uid"],
                    pid: row["pid"],
                    comm: row["comm"],
                    unit: row["unit"]
                ),
                request: Array((row["request"] as String).utf8),
                since: WallTime(microseconds: row["since"]),
                missing: missing.map { WallTime(microseconds: $0) }
            )
        }
    }

    /// Writes it down in place of the one of its name; it is on the disk when this returns.
    func keep(_ requirement: Requirement) throws {
        try self.writeDurably { db in
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO required
                        (name, uid, pid, since, missing, request, comm, unit)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    requirement.name, requirement.peer.uid, requirement.peer.pid,
                    requirement.since.microseconds, requirement.missing?.microseconds,
                    String(decoding: requirement.request, as: UTF8.self), requirement.peer.comm,
                    requirement.peer.unit,
                ]
            )
        }
    }

    /// Removes the one of that name; it is gone from the disk when this returns.
    func forget(requirement name: String) throws {
        try self.writeDurably { db in
            try db.execute(sql: "DELETE FROM required WHERE name = ?", arguments: [name])
        }
    }
}

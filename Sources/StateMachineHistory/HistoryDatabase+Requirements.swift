import StateMachineCore
import StateMachineSQLite

/// The required guards: one row each.
extension HistoryDatabase {
    func requirements(_ db: Database) throws -> [Requirement] {
        guard try db.hasTable("required") else { return [] }
        let sql = """
            SELECT name, uid, pid, since, missing, request, comm, unit FROM required ORDER BY name
            """
        return try db.all(sql) { row in
            Requirement(
                name: try row.presentText(0),
                peer: Peer(
                    uid: try row.present(1),
                    pid: try row.present(2),
                    comm: row.text(6),
                    unit: row.text(7)
                ),
                request: Array(try row.presentText(5).utf8),
                since: WallTime(microseconds: try row.present(3)),
                missing: try row.value(4).map { WallTime(microseconds: $0) }
            )
        }
    }

    /// Writes it in place of the one of its name; it is on the disk when this returns.
    func keep(_ requirement: Requirement) throws {
        try self.writeDurably { db in
            try db.run(
                """
                INSERT OR REPLACE INTO required
                    (name, uid, pid, since, missing, request, comm, unit)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                requirement.name,
                requirement.peer.uid,
                requirement.peer.pid,
                requirement.since.microseconds,
                requirement.missing?.microseconds,
                String(decoding: requirement.request, as: UTF8.self),
                requirement.peer.comm,
                requirement.peer.unit
            )
        }
    }

    /// Removes the one of that name; it is gone from the disk when this returns.
    func forget(requirement name: String) throws {
        try self.writeDurably { db in
            try db.run("DELETE FROM required WHERE name = ?", name)
        }
    }
}

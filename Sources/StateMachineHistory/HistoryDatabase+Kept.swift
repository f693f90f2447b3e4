import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// The declarations of the machine's states, and the transitions from which on they hold.
extension HistoryDatabase {
    /// A declaration that is to be written, and the first transition whose state it declares.
    typealias NewDeclaration = (declaration: RecordedDeclaration, seq: UInt64)

    /// The declaration that was last in force.
    func lastDeclaration(_ db: Database) throws -> RecordedDeclaration? {
        guard try db.hasTable("declaration") else { return nil }
        let sql = "SELECT hash, machine, version, text FROM declaration ORDER BY id DESC LIMIT 1"
        return try db.first(sql) { row in
            RecordedDeclaration(
                hash: try row.presentText(0),
                machine: row.text(1),
                version: row.text(2),
                text: try row.presentText(3)
            )
        }
    }

    /// Adds it, unless it was last in force; within a transaction.
    func insert(_ new: NewDeclaration, _ db: Database) throws {
        let (declaration, seq) = new
        guard try self.lastDeclaration(db)?.hash != declaration.hash else { return }
        // Files may come into force in turns. The newest row keeps the text, as the oldest are removed first.
        try db.run("UPDATE declaration SET text = '' WHERE hash = ?", declaration.hash)
        try db.run(
            """
            INSERT INTO declaration (seq, at, hash, machine, version, text)
                VALUES (?, ?, ?, ?, ?, ?)
            """,
            seq,
            WallTime.now.microseconds,
            declaration.hash,
            declaration.machine,
            declaration.version,
            declaration.text
        )
    }

    /// Removes declarations of transitions that are no longer kept; within a transaction.
    func pruneDeclarations(before seq: UInt64, _ db: Database) throws {
        try db.run(
            """
            DELETE FROM declaration
                WHERE id < (SELECT max(id) FROM declaration WHERE seq <= ?)
            """,
            seq
        )
    }
}

/// The holds and guards that outlive a crash: one row each.
extension HistoryDatabase {
    func voters(_ db: Database) throws -> [KeptVoter] {
        // By what was made, and not by what is there: a table that is gone is not passed over.
        let version = try DatabaseSchema.version(of: db)
        guard version >= 4 else { return [] }
        let (number, until, table) =
            version == 4 ? ("rowid", "NULL", "required") : ("number", "until", "kept")
        let sql = """
            SELECT \(number), name, uid, pid, since, missing, \(until), request, comm, unit
                FROM \(table) ORDER BY 1
            """
        return try db.all(sql) { row in
            // As many numbers again are left for those to come. To begin a new history would let pass what is held.
            guard let number = UInt64(exactly: row.integer(0)), number < 1 << 52 else {
                throw HistoryError(
                    "a hold or guard in \(self.path) has the number \(row.integer(0)), which none can have; "
                        + "set it right in the table kept, or delete the row"
                )
            }
            return KeptVoter(
                number: number,
                name: row.text(1),
                peer: Peer(
                    // What is no user is root's, who alone may release it then.
                    uid: UInt32(exactly: row.integer(2)) ?? 0,
                    pid: Int32(exactly: row.integer(3)) ?? 0,
                    comm: row.text(8),
                    unit: row.text(9)
                ),
                request: Array(try row.presentText(7).utf8),
                since: WallTime(microseconds: try row.present(4)),
                missing: try row.value(5).map { WallTime(microseconds: $0) },
                until: try row.value(6).map { WallTime(microseconds: $0) }
            )
        }
    }

    /// Writes or removes rows; within a transaction.
    func keep(_ changes: [(number: UInt64, voter: KeptVoter?)], _ db: Database) throws {
        for (number, voter) in changes {
            guard let voter else {
                try db.run("DELETE FROM kept WHERE number = ?", number)
                continue
            }
            try db.run(
                """
                INSERT OR REPLACE INTO kept
                    (number, name, uid, pid, comm, unit, since, missing, until, request)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                number,
                voter.name,
                voter.peer.uid,
                voter.peer.pid,
                voter.peer.comm,
                voter.peer.unit,
                voter.since.microseconds,
                voter.missing?.microseconds,
                voter.until?.microseconds,
                String(decoding: voter.request, as: UTF8.self)
            )
        }
    }
}

import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// The declarations of the machine's states, and the transitions from which on they hold.
extension HistoryDatabase {
    /// A declaration that is to be written, and the first transition whose state it declares.
    typealias NewDeclaration = (declaration: RecordedDeclaration, seq: UInt64)

    /// What identifies the declaration that was last in force.
    struct LastDeclaration: Hashable {
        let hash: String
        let machine: String?
    }

    func lastDeclaration(_ db: Database) throws -> LastDeclaration? {
        guard try db.hasTable("declaration") else { return nil }
        let sql = "SELECT hash, machine FROM declaration ORDER BY id DESC LIMIT 1"
        return try db.first(sql) { row in
            LastDeclaration(hash: try row.presentText(0), machine: row.text(1))
        }
    }

    /// Adds it, unless it was last in force; within a transaction.
    func insert(_ new: NewDeclaration, _ db: Database) throws {
        let (declaration, seq) = new
        guard try self.lastDeclaration(db)?.hash != declaration.hash else { return }
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

import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// How far linked machines were followed in the newest stay that looks for something at them: one row.
extension HistoryDatabase {
    func notedLinks(_ db: Database) throws -> KeptLinks? {
        guard try db.hasTable("links") else { return nil }
        return try db.first("SELECT seq, cursors, matched, due FROM links WHERE id = 1") { row in
            let cursors = JSONValue(parsing: row.text(1) ?? "")?.members ?? []
            return KeptLinks(
                stay: UInt64(clamping: row.integer(0)),
                cursors: Dictionary(
                    cursors.compactMap { cursor in cursor.value.string.map { (cursor.key, $0) } }
                ) { first, _ in first },
                matched: Self.texts(row.text(2)),
                due: Self.texts(row.text(3))
            )
        }
    }

    private static func texts(_ json: String?) -> [String] {
        (JSONValue(parsing: json ?? "")?.elements ?? []).compactMap { $0.string }
    }

    /// Records it, unless what is there is of a newer stay; within a transaction.
    func note(_ links: KeptLinks, _ db: Database) throws {
        let cursors = links.cursors.sorted { $0.key < $1.key }
            .map { JSONMember($0.key, .string($0.value)) }
        let texts = { (texts: [String]) in JSONValue.array(texts.map { .string($0) }).description }
        try db.run(
            """
            INSERT OR REPLACE INTO links SELECT 1, ?1, ?2, ?3, ?4
                WHERE NOT EXISTS (SELECT 1 FROM links WHERE seq > ?1)
            """,
            links.stay,
            JSONValue.object(cursors).description,
            texts(links.matched),
            texts(links.due)
        )
    }
}

import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// What a host of a machine that several share has noted: who it is among them, and by what it knows the engine.
struct KeptSharing: Hashable {
    /// What tells this host from another that has its name.
    let instance: String
    /// Those under which there may be keys of it, newest last.
    var leases: [Int64] = []
    /// Nil until it has seen the machine.
    var engine: KnownEngine?
    /// Where the database begins: of that change it has the state that it led to alone.
    var begun: UInt64 = 0

    /// One that chance has drawn.
    init() {
        self.instance = UInt64.random(in: .min ... .max).digits(16, radix: 16)
    }

    init(instance: String, leases: [Int64], engine: KnownEngine?, begun: UInt64) {
        (self.instance, self.leases) = (instance, leases)
        (self.engine, self.begun) = (engine, begun)
    }
}

/// One row of a machine that several hosts share, none of another's.
extension HistoryDatabase {
    func sharing(_ db: Database) throws -> KeptSharing? {
        guard try db.hasTable("sharing") else { return nil }
        let sql = """
            SELECT instance, leases, ended, revision, head, block, digest, begun
                FROM sharing WHERE id = 1
            """
        return try db.first(sql) { row in
            let leases = try Self.texts(row.presentText(1), "leases").map { text in
                guard let lease = Int64(text, radix: 16) else {
                    throw HistoryError(
                        damaged: "a lease of the table sharing is \(text.quoted), which is no lease"
                    )
                }
                return lease
            }
            return KeptSharing(
                instance: try row.presentText(0),
                leases: leases,
                engine: try Self.engine(row),
                begun: try row.present(7)
            )
        }
    }

    private static func engine(_ row: Statement) throws -> KnownEngine? {
        guard let ended = row.text(2) else { return nil }
        let first: UInt64? = try row.value(5)
        let digest: Int64? = try row.value(6)
        return KnownEngine(
            after: try self.texts(ended, "ended").compactMap { Epoch($0) },
            revision: try row.present(3),
            head: try row.present(4),
            block: first.flatMap { first in
                digest.map { KnownEngine.Block(first: first, digest: UInt64(bitPattern: $0)) }
            }
        )
    }

    private static func texts(_ json: String, _ column: String) throws(HistoryError) -> [String] {
        guard let elements = JSONValue(parsing: json)?.elements else {
            throw HistoryError(
                damaged: "column \(column) of the table sharing is no list: \(json.excerpt())"
            )
        }
        return elements.compactMap(\.string)
    }

    /// Notes it in place of what is there; within a transaction.
    func note(_ sharing: KeptSharing?, _ db: Database) throws {
        guard let sharing else { return try db.run("DELETE FROM sharing") }
        let list = { (texts: [String]) in JSONValue.array(texts.map { .string($0) }).description }
        let engine = sharing.engine
        try db.run(
            "INSERT OR REPLACE INTO sharing VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
            sharing.instance,
            list(sharing.leases.map { String($0, radix: 16) }),
            engine.map { list($0.earlier.map(\.description)) },
            engine?.revision,
            engine?.head,
            engine?.block?.first,
            engine?.block.map { Int64(bitPattern: $0.digest) },
            sharing.begun
        )
    }
}

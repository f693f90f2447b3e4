import GRDB
import StateMachineCore

/// Transitions read from rows.
extension HistoryDatabase {
    /// What is read at a time: memory, and how long a reader keeps the next one waiting.
    ///
    /// 64 KiB is less than what a socket takes at a time, so that little is read twice. Not tuned.
    static let chunk = (rows: 512, bytes: 64 << 10)

    func newest(_ db: Database) throws -> RecordedTransition? {
        try Row.fetchOne(db, sql: "SELECT * FROM change ORDER BY seq DESC LIMIT 1")
            .map(RecordedTransition.init)
    }

    /// The next few transitions after `seq`.
    func read(after seq: UInt64) throws -> [RecordedTransition] {
        try self.pool.read { db in
            let statement = try db.cachedStatement(
                sql: "SELECT * FROM change WHERE seq > ? ORDER BY seq LIMIT ?"
            )
            let rows = try Row.fetchCursor(statement, arguments: [seq, Self.chunk.rows])
            var transitions: [RecordedTransition] = []
            var bytes = 0
            while bytes < Self.chunk.bytes, let row = try rows.next() {
                let transition = RecordedTransition(row)
                bytes += transition.weight
                transitions.append(transition)
            }
            return transitions
        }
    }
}

extension RecordedTransition {
    fileprivate init(_ row: Row) {
        let oldName: String? = row[4]
        let uid: UInt32? = row[6]
        let pid: Int32? = row[7]
        self.init(
            seq: row[0],
            old: oldName.map { State(name: $0, data: row[5]) },
            new: State(name: row[2], data: row[3]),
            at: WallTime(microseconds: row[1]),
            cause: row[8],
            by: uid.flatMap { uid in pid.map { Peer(uid: uid, pid: $0) } }
        )
    }

    /// About how many bytes its line has.
    fileprivate var weight: Int {
        200 + self.new.data.utf8.count + (self.old?.data.utf8.count ?? 0)
            + (self.cause?.utf8.count ?? 0)
    }
}

import Glibc
import StateMachineClient
import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// The changes in a daemon's database, read without writing anything, while the daemon runs or not.
///
/// The table is documented for other readers: see the documentation of StateMachineHistory.
final class RecordedChanges {
    /// Why the database cannot be read.
    struct Unreadable: Error {
        let sentence: String
    }

    /// Rows read at a time: a reader that stays in the database keeps its log from being cut.
    private static let rows = 1000

    /// How long to wait for a daemon that has the database locked.
    private static let timeout = Duration.seconds(5)

    private let path: String
    private let database: Database
    private var last: Int64 = -1

    /// Opens the database.
    ///
    /// - Parameter path: the database, or the directory that it is in.
    /// - Throws: `Unreadable`.
    init(_ path: String) throws(Unreadable) {
        let path = Self.isDirectory(path) ? "\(path)/statemachine.sqlite" : path
        self.path = path
        guard access(path, R_OK) == 0 else {
            throw Unreadable(sentence: "cannot read \(path): \(String(cString: strerror(errno)))")
        }
        // A database that was closed has no log. Nobody writes to it then, and no file may appear
        // beside it.
        let hasLog = access("\(path)-wal", F_OK) == 0
        do {
            self.database = try Database(
                path,
                hasLog ? .readOnly : .unchanging,
                timeout: Self.timeout
            )
        } catch {
            throw Unreadable(sentence: "cannot read \(path): \(error.message)")
        }
    }

    /// The next changes in their order; none at the end.
    func next() throws(Unreadable) -> [RecordedTransition] {
        let sql = """
            SELECT seq, at, state, data, fromState, fromData, uid, pid, cause
            FROM change WHERE seq > ? ORDER BY seq LIMIT ?
            """
        return try self.read { database in
            try database.all(sql, self.last, Self.rows) { row in
                self.last = row.integer(0)
                return Self.change(row)
            }
        }
    }

    /// About how many there are: the numbers from the first to the last.
    func count() throws(Unreadable) -> UInt64 {
        // Each end is found by itself in the order of the rows.
        let sql =
            "SELECT (SELECT min(seq) FROM change WHERE seq > 0), (SELECT max(seq) FROM change)"
        return try self.read { database in
            try database.first(sql) { UInt64(clamping: $0.integer(1) - $0.integer(0) + 1) } ?? 0
        }
    }

    private func read<Value>(_ body: (Database) throws -> Value) throws(Unreadable) -> Value {
        do {
            return try body(self.database)
        } catch {
            let reason = (error as? SQLiteError)?.message ?? "\(error)"
            throw Unreadable(sentence: "\(self.path) is not a history that can be read: \(reason)")
        }
    }

    private static func change(_ row: Statement) -> RecordedTransition {
        RecordedTransition(
            seq: UInt64(clamping: row.integer(0)),
            old: row.text(4).map { .init(name: $0, data: row.text(5) ?? "{}") },
            new: .init(name: row.text(2) ?? "", data: row.text(3) ?? "{}"),
            at: WallTime(microseconds: row.integer(1)),
            cause: row.text(8),
            by: row.isNull(6)
                ? nil
                : Peer(
                    uid: UInt32(clamping: row.integer(6)),
                    pid: Int32(clamping: row.integer(7))
                )
        )
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

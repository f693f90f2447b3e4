import GRDBSQLite
import Glibc
import StateMachineClient
import StateMachineCore
import StateMachineProtocol

/// The changes in a daemon's database, read without writing anything, while the daemon runs or not.
///
/// The table is documented for other readers: see the documentation of StateMachineHistory.
final class RecordedChanges {
    /// Why the database cannot be read.
    struct Unreadable: Error {
        let sentence: String
    }

    /// Rows read at a time: a reader that stays in the database keeps its log from being cut.
    private static let rows: Int32 = 1000

    /// Milliseconds to wait for a daemon that has the database locked.
    private static let timeout: Int32 = 5000

    private let path: String
    private let connection: OpaquePointer
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
        var connection: OpaquePointer?
        // A database that was closed has no log. Nobody writes to it then, and no file may appear
        // beside it.
        let hasLog = access("\(path)-wal", F_OK) == 0
        let uri = "file:\(Self.escaped(path))?\(hasLog ? "mode=ro" : "immutable=1")"
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        let code = sqlite3_open_v2(uri, &connection, flags, nil)
        guard code == SQLITE_OK, let connection else {
            sqlite3_close_v2(connection)
            throw Unreadable(
                sentence: "cannot read \(path): \(String(cString: sqlite3_errstr(code)))"
            )
        }
        self.connection = connection
        sqlite3_busy_timeout(connection, Self.timeout)
    }

    deinit { sqlite3_close_v2(self.connection) }

    /// The next changes in their order; none at the end.
    func next() throws(Unreadable) -> [RecordedTransition] {
        let sql = """
            SELECT seq, at, state, data, fromState, fromData, uid, pid, cause
            FROM change WHERE seq > ? ORDER BY seq LIMIT ?
            """
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(self.connection, sql, -1, &statement, nil) == SQLITE_OK,
            let statement
        else { throw self.unreadable }
        sqlite3_bind_int64(statement, 1, self.last)
        sqlite3_bind_int(statement, 2, Self.rows)
        var changes: [RecordedTransition] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                changes.append(Self.change(statement))
                self.last = sqlite3_column_int64(statement, 0)
            case SQLITE_DONE: return changes
            default: throw self.unreadable
            }
        }
    }

    /// About how many there are: the numbers from the first to the last.
    func count() throws(Unreadable) -> UInt64 {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let sql =
            "SELECT (SELECT min(seq) FROM change WHERE seq > 0), (SELECT max(seq) FROM change)"
        // Each end is found by itself in the order of the rows.
        guard sqlite3_prepare_v2(self.connection, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { throw self.unreadable }
        let (first, last) = (sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1))
        return UInt64(clamping: last - first + 1)
    }

    private var unreadable: Unreadable {
        let reason = String(cString: sqlite3_errmsg(self.connection))
        return Unreadable(sentence: "\(self.path) is no history that can be read: \(reason)")
    }

    private static func change(_ row: OpaquePointer) -> RecordedTransition {
        let isByAClient = sqlite3_column_type(row, 6) != SQLITE_NULL
        return RecordedTransition(
            seq: UInt64(clamping: sqlite3_column_int64(row, 0)),
            old: Self.text(row, 4).map { .init(name: $0, data: Self.text(row, 5) ?? "{}") },
            new: .init(name: Self.text(row, 2) ?? "", data: Self.text(row, 3) ?? "{}"),
            at: WallTime(microseconds: sqlite3_column_int64(row, 1)),
            cause: Self.text(row, 8),
            by: isByAClient
                ? Peer(
                    uid: UInt32(clamping: sqlite3_column_int64(row, 6)),
                    pid: Int32(clamping: sqlite3_column_int64(row, 7))
                ) : nil
        )
    }

    /// The whole text, which may contain U+0000.
    private static func text(_ row: OpaquePointer, _ column: Int32) -> String? {
        guard let bytes = sqlite3_column_text(row, column) else { return nil }
        let count = Int(sqlite3_column_bytes(row, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The path escaped for a URI: sqlite.org/uri.html, 3.1.
    private static func escaped(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
    }
}

import CLibSQLite

/// What a statement can be given.
package protocol StoredValue {
    /// Binds the value to a parameter, counted from 1; the value may go afterwards.
    func bind(to statement: Statement, _ parameter: CInt)
}

/// A prepared statement, and the row it stands at.
///
/// Belongs to one thread at a time, as its database does.
package final class Statement {
    private let pointer: OpaquePointer
    /// Where bound texts are until it is reset: one buffer for all, and not an allocation for each.
    private var texts = UnsafeMutableBufferPointer<CChar>(start: nil, count: 0)
    /// How much of it they take, or would if it were longer.
    private var length = 0

    /// How long that buffer becomes at most; what it has no room for SQLite copies elsewhere.
    ///
    /// 64 KiB: sixteen rows with states of 2 KB and more. Not tuned.
    private static let longest = 64 << 10

    /// SQLITE_TRANSIENT, a macro that is not imported: SQLite takes a copy.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// The connection has to outlive every call of the statement, but not the statement itself.
    init(_ sql: String, on connection: OpaquePointer?) throws(SQLiteError) {
        var pointer: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let code = sqlite3_prepare_v3(connection, sql, -1, flags, &pointer, nil)
        guard code == SQLITE_OK, let pointer else {
            throw SQLiteError(code, String(cString: sqlite3_errmsg(connection)))
        }
        self.pointer = pointer
    }

    deinit {
        sqlite3_finalize(self.pointer)
        self.texts.deallocate()
    }

    // MARK: - Parameters, counted from 1

    package func bind(_ values: [(any StoredValue)?]) {
        for (index, value) in values.enumerated() {
            let parameter = CInt(index) + 1
            if let value {
                value.bind(to: self, parameter)
            } else {
                self.bindNull(parameter)
            }
        }
    }

    package func bind(_ value: Int64?, _ parameter: CInt) {
        guard let value else { return self.bindNull(parameter) }
        sqlite3_bind_int64(self.pointer, parameter, value)
    }

    package func bindNull(_ parameter: CInt) { sqlite3_bind_null(self.pointer, parameter) }

    package func bind(_ text: String?, _ parameter: CInt) {
        guard var text else { return self.bindNull(parameter) }
        text.withUTF8 { self.bind($0, parameter) }
    }

    /// Binds a text in UTF-8, which may go afterwards.
    package func bind(_ text: UnsafeBufferPointer<UInt8>, _ parameter: CInt) {
        text.withMemoryRebound(to: CChar.self) { text in
            var (start, keeping) = (text.baseAddress, Self.copied as sqlite3_destructor_type?)
            let end = self.length + text.count
            if end <= self.texts.count, let room = self.texts.baseAddress, let bytes = start {
                let kept = room + self.length
                kept.update(from: bytes, count: text.count)
                (start, keeping) = (UnsafePointer(kept), nil)
            }
            self.length = end
            sqlite3_bind_text(self.pointer, parameter, start, CInt(text.count), keeping)
        }
    }

    // MARK: - Running

    /// Runs the statement as far as its next row; false at its end.
    package func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(self.pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let message = String(cString: sqlite3_errmsg(sqlite3_db_handle(self.pointer)))
            throw SQLiteError(code, message)
        }
    }

    /// Ends what is under way, and forgets the parameters' values.
    package func reset() {
        sqlite3_reset(self.pointer)
        sqlite3_clear_bindings(self.pointer)
        let length = min(exchange(&self.length, with: 0), Self.longest)
        guard length > self.texts.count else { return }
        self.texts.deallocate()
        self.texts = .allocate(capacity: length)
    }

    // MARK: - Columns of the row, counted from 0

    package func name(_ column: CInt) -> String {
        sqlite3_column_name(self.pointer, column).map { String(cString: $0) } ?? ""
    }

    package func isNull(_ column: CInt) -> Bool {
        sqlite3_column_type(self.pointer, column) == SQLITE_NULL
    }

    /// Whether it has a whole number, and not something that would only be converted to one.
    package func isInteger(_ column: CInt) -> Bool {
        sqlite3_column_type(self.pointer, column) == SQLITE_INTEGER
    }

    /// 0 for NULL.
    package func integer(_ column: CInt) -> Int64 { sqlite3_column_int64(self.pointer, column) }

    /// The whole text, which may contain U+0000; nil for NULL.
    package func text(_ column: CInt) -> String? {
        self.memory(column).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of the whole text; none for NULL.
    package func bytes(_ column: CInt) -> [UInt8] { self.memory(column).map { Array($0) } ?? [] }

    private func memory(_ column: CInt) -> UnsafeBufferPointer<UInt8>? {
        // In this order: the text is converted first, then counted.
        guard let start = sqlite3_column_text(self.pointer, column) else { return nil }
        let count = Int(sqlite3_column_bytes(self.pointer, column))
        return UnsafeBufferPointer(start: start, count: count)
    }
}

extension StoredValue where Self: BinaryInteger {
    /// Beyond SQLite's range, the nearest number in it.
    package func bind(to statement: Statement, _ parameter: CInt) {
        statement.bind(Int64(clamping: self), parameter)
    }
}

extension Int: StoredValue {}
extension Int32: StoredValue {}
extension Int64: StoredValue {}
extension UInt32: StoredValue {}
extension UInt64: StoredValue {}

extension String: StoredValue {
    package func bind(to statement: Statement, _ parameter: CInt) {
        statement.bind(self, parameter)
    }
}

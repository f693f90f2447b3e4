import GRDBSQLite
import StateMachineCore

/// A state as it is written down, its text where SQLite can read it: states come again and again, and a
/// copy of the text for each row would cost as much as the row.
final class WrittenState {
    let recorded: RecordedTransition.State
    private let name: UnsafeMutableBufferPointer<CChar>
    private let data: UnsafeMutableBufferPointer<CChar>

    init(_ recorded: RecordedTransition.State) {
        self.recorded = recorded
        self.name = .allocate(copying: recorded.name)
        self.data = .allocate(copying: recorded.data)
    }

    deinit {
        self.name.deallocate()
        self.data.deallocate()
    }

    /// Binds the name to that column and the data to the next; the object has to be kept until the
    /// statement is bound to something else.
    func bind(to statement: OpaquePointer, _ column: CInt) {
        // No destructor is SQLITE_STATIC: nothing is copied, nothing freed.
        sqlite3_bind_text(statement, column, self.name.baseAddress, CInt(self.name.count), nil)
        sqlite3_bind_text(statement, column + 1, self.data.baseAddress, CInt(self.data.count), nil)
    }
}

extension UnsafeMutableBufferPointer<CChar> {
    fileprivate static func allocate(copying text: String) -> Self {
        // One byte more: a pointer to nothing would be bound as NULL.
        let bytes = text.utf8CString
        let copy = Self.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        return Self(rebasing: copy.dropLast())
    }
}

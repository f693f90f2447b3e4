import CLibSQLite

/// Why SQLite did not do what it was asked to.
package struct SQLiteError: Error, Hashable, CustomStringConvertible {
    /// The extended result code (sqlite.org/rescode.html); only the primary one if opening failed.
    package let code: CInt

    /// SQLite's own message.
    package let message: String

    package var description: String { "\(self.message) (SQLite \(self.code))" }

    init(_ code: CInt, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What SQLite cannot notice: the contents are not what they have to be.
    package static func corrupt(_ message: String) -> Self { Self(SQLITE_CORRUPT, message) }

    /// What SQLite would say of a file that it cannot write to.
    package static let readOnly = Self(SQLITE_READONLY, "the file system is read-only")

    /// Whether all was written, and may not be on the disk.
    package var isUnsynced: Bool { self.code == SQLITE_IOERR | (4 << 8) }

    /// What to do about an error: the primary result codes that have a remedy of their own.
    package enum Kind {
        case isLocked
        case diskIsFull
        case diskFails
        case isInaccessible
        /// SQL that does not fit the tables, for example.
        case isWrong
        /// Not a database, or a damaged one.
        case isCorrupt
        case other
    }

    package var kind: Kind {
        switch self.code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED: .isLocked
        case SQLITE_FULL: .diskIsFull
        case SQLITE_IOERR: .diskFails
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY: .isInaccessible
        case SQLITE_ERROR: .isWrong
        case SQLITE_CORRUPT, SQLITE_NOTADB: .isCorrupt
        default: .other
        }
    }
}

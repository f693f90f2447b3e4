import GRDB
import Glibc

extension DatabaseError {
    /// SQLite's message and its error code.
    var sentence: String {
        let message = self.message ?? "no message"
        let code = self.extendedResultCode.rawValue
        switch self.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return "another program has it locked; end that program (SQLite: \(message), \(code))"
        case .SQLITE_FULL: return "the disk is full; make room on it (SQLite: \(message), \(code))"
        case .SQLITE_IOERR:
            return "the disk is full or fails; make room on it, or look into the kernel's log "
                + "(SQLite: \(message), \(code))"
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY:
            return "let user \(geteuid()) read and write it, with its -wal and -shm, "
                + "or move it away to begin anew (SQLite: \(message), \(code))"
        case .SQLITE_ERROR:
            return "its tables are not the ones of this program; move it away to begin anew, "
                + "or choose another --state-directory (SQLite: \(message), \(code))"
        default:
            return "\(message) (SQLite \(code))"
        }
    }

    /// Whether the file is not a database, or is corrupt.
    var isCorruption: Bool {
        self.resultCode == .SQLITE_CORRUPT || self.resultCode == .SQLITE_NOTADB
    }

    /// Whether the disk is full or failing.
    var isOfTheDisk: Bool {
        self.resultCode == .SQLITE_FULL || self.resultCode == .SQLITE_IOERR
    }
}

extension HistoryDatabase {
    func sentence(for error: any Error) -> String {
        guard let error = error as? DatabaseError else { return "\(self.path): \(error)" }
        return "\(self.path): \(error.sentence)"
    }
}

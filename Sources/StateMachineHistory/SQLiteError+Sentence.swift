import Glibc
import StateMachineSQLite

extension SQLiteError {
    /// What is wrong and what to do, with SQLite's message and its error code.
    var sentence: String {
        let said = "(SQLite: \(self.message), \(self.code))"
        switch self.kind {
        case .isLocked: return "another program has it locked; end that program \(said)"
        case .diskIsFull: return "the disk is full; make room on it \(said)"
        case .diskFails:
            return
                "the disk is full or fails; make room on it, or look into the kernel's log \(said)"
        case .isInaccessible:
            return "let user \(geteuid()) read and write it, with its -wal and -shm, "
                + "or move it away to begin anew \(said)"
        case .isWrong:
            return "its tables are not the ones of this program; move it away to begin anew, "
                + "or choose another --state-directory \(said)"
        case .isCorrupt, .other: return self.description
        }
    }

    /// Whether the disk is full or failing.
    var isOfTheDisk: Bool { self.kind == .diskIsFull || self.kind == .diskFails }
}

extension HistoryDatabase {
    func sentence(for error: any Error) -> String {
        guard let error = error as? SQLiteError else { return "\(self.path): \(error)" }
        if self.directory.isReadOnly, self.isOfTheDisk(error) {
            return "\(self.path): its file system is read-only; mount it for writing"
        }
        return "\(self.path): \(error.sentence)"
    }
}

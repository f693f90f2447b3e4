import Glibc
import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// Why a history cannot be opened, in one sentence which names the file and says what to do.
public struct HistoryError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// The error number of the system call that failed, if one did.
    public let errno: CInt?

    /// Whether it will recur at every start until somebody does what the sentence says.
    ///
    /// False if a system call failed: ``errno`` tells.
    public let isLasting: Bool

    /// Whether the database holds what no program has written there.
    let isDamage: Bool

    init(_ description: String, isLasting: Bool = true) {
        self.init(description, nil, isLasting: isLasting, isDamage: false)
    }

    /// What was found where no program has written it.
    init(damaged description: String) {
        self.init(description, nil, isLasting: false, isDamage: true)
    }

    /// A system call that failed, with the message of its `errno`.
    init(_ what: String, errno code: CInt) {
        let why = String(cString: strerror(code))
        self.init("\(what): \(why)", code, isLasting: false, isDamage: false)
    }

    /// Something else than a file of this user's alone is where one has to be.
    init(notPrivate path: String) {
        self.init(
            "\(path) must be a regular file of user \(geteuid()) without other links; chown it, or move it away"
        )
    }

    private init(_ description: String, _ errno: CInt?, isLasting: Bool, isDamage: Bool) {
        self.description = description
        self.errno = errno
        self.isLasting = isLasting
        self.isDamage = isDamage
    }
}

extension SQLiteError {
    /// What is wrong and what to do, with SQLite's message and its error code.
    var sentence: String {
        let said = "(SQLite: \(self.message), \(self.code))"
        switch self.kind {
        case .isLocked: return "another program has it locked; end that program \(said)"
        case .diskIsFull: return "the disk is full; make room on it \(said)"
        case .diskFails:
            return
                "the disk is full or fails; make room on it, or look at the kernel's log \(said)"
        case .isInaccessible:
            return "user \(geteuid()) may not read and write it; chown it, with its -wal and -shm, "
                + "or move it away to start a new history \(said)"
        case .isWrong:
            return
                "its tables are not those of a history; move it away to start a new history, "
                + "or choose another --state-directory \(said)"
        case .isCorrupt, .other: return self.description
        }
    }

    /// Whether it will recur at every start until somebody does what ``sentence`` says.
    var isLasting: Bool {
        switch self.kind {
        case .isInaccessible, .isWrong: true
        case .isLocked, .diskIsFull, .diskFails, .isCorrupt, .other: false
        }
    }

    /// Whether the disk is full or failing.
    var isOfTheDisk: Bool { self.kind == .diskIsFull || self.kind == .diskFails }
}

extension HistoryDatabase {
    func sentence(for error: any Error) -> String {
        guard let error = error as? SQLiteError else {
            let sentence = "\(error)"
            return sentence.hasPrefix(self.path) ? sentence : "\(self.path): \(sentence)"
        }
        if self.directory.isReadOnly, self.isOfTheDisk(error) {
            return "\(self.path): its file system is read-only; mount it for writing"
        }
        return "\(self.path): \(error.sentence)"
    }
}

/// Why a history that existed, or at least its numbering, began anew.
public enum HistoryLoss: Hashable, Sendable {
    /// The database could not be read, and was moved there.
    case corrupt(setAside: String)
    /// The database of that name was empty, or the file was missing.
    case missing(database: String)
    /// The database ends before what was there, or has another epoch, or none: a restored copy.
    ///
    /// The history goes on from it, under a new epoch.
    case restored(database: String)
}

/// Which work of a history currently fails, and why.
///
/// Belongs to the thread where groups are committed.
struct HistoryTroubles {
    private var present: [HistoryWork: String] = [:]
    private var handler: @Sendable (HistoryWork, String?) -> Void = { _, _ in }

    /// `trouble`: what fails already.
    init(_ trouble: (work: HistoryWork, why: String)?) {
        if let trouble { self.present[trouble.work] = trouble.why }
    }

    /// Calls `handler` with what fails now, and with each change of that.
    mutating func tell(_ handler: @escaping @Sendable (HistoryWork, String?) -> Void) {
        self.handler = handler
        for (work, why) in self.present { handler(work, why) }
    }

    /// Records that the work has succeeded (nil) or failed.
    mutating func note(_ failure: String?, of work: HistoryWork) {
        guard self.present[work] != failure else { return }
        self.present[work] = failure
        self.handler(work, failure)
    }
}

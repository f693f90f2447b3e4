import StateMachineCore
import StateMachineSQLite

/// Thrown where nothing is wrong with a database but that it is another machine's.
struct ForeignDatabase: Error {}

extension HistoryDatabase {
    /// Opens the database in a directory, or another one in its place if it is damaged or foreign.
    ///
    /// `body` reads it, and begins; it is given the one in whose place it is, if there was one.
    ///
    /// - Throws: ``HistoryError``.
    static func open<Opening>(
        in path: String,
        hasStays: Bool,
        options: HistoryOptions,
        boot: String?,
        timeout: Duration,
        _ body: (HistoryDatabase, StateDirectory.Aside?) throws -> Opening
    ) throws -> Opening {
        let directory = try StateDirectory(path)
        func open(after aside: StateDirectory.Aside? = nil) throws -> Opening {
            let database = HistoryDatabase(
                in: directory,
                hasStays: hasStays,
                durability: options.durability,
                boot: boot,
                timeout: timeout
            )
            return try body(database, aside)
        }
        func openAnew(as flaw: StateDirectory.Flaw) throws -> Opening {
            try open(after: directory.setDatabaseAside(as: flaw))
        }
        do {
            guard !directory.hasDatabaseLostItsBeginning else { return try openAnew(as: .corrupt) }
            return try open()
        } catch is ForeignDatabase {
            return try openAnew(as: .former)
        } catch let error as SQLiteError where error.kind == .isCorrupt {
            return try openAnew(as: .corrupt)
        } catch let error as HistoryError where error.isDamage {
            return try openAnew(as: .corrupt)
        } catch let error as SQLiteError {
            throw HistoryError(
                "cannot use \(directory.database): \(error.sentence)",
                isLasting: error.isLasting
            )
        }
    }
}

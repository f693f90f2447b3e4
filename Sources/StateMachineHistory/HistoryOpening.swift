import GRDB
import StateMachineCore
import StateMachineProtocol

/// A history that has been opened: where the last run ended, and what this one stands on.
struct HistoryOpening<State: MachineState> {
    let database: HistoryDatabase
    let epoch: String
    /// The newest transition, as this program writes it, and the state that it led to.
    let newest: RecordedTransition
    let state: State
    /// The oldest transition that is kept; one past the newest if none is.
    let oldest: UInt64
    let loss: HistoryLoss?
    /// Why the disk takes nothing; nil if it does.
    let trouble: String?

    init(
        in path: String,
        coding: StateCoding<State>,
        options: HistoryOptions,
        boot: String?,
        patience: Double
    ) throws {
        let directory = try StateDirectory(path)
        func open(after loss: HistoryLoss?) throws -> Self {
            let database = HistoryDatabase(
                in: directory,
                durability: options.durability,
                boot: boot,
                patience: patience
            )
            return try Self(database, coding, after: loss)
        }
        func openAnew() throws -> Self {
            let aside = try directory.setDatabaseAside(at: WallTime.now.fileName)
            return try open(after: .corrupt(setAside: aside))
        }
        do {
            self =
                try directory.hasDatabaseLostItsBeginning ? openAnew() : open(after: nil)
        } catch let error as DatabaseError where error.isCorruption {
            self = try openAnew()
        } catch let error as DatabaseError {
            throw HistoryError("cannot use \(directory.database): \(error.sentence)")
        }
    }

    private init(
        _ database: HistoryDatabase,
        _ coding: StateCoding<State>,
        after loss: HistoryLoss?
    ) throws {
        let past = try database.past()
        self.database = database
        if let last = past.newest {
            let isRestored = database.directory.last.map { past.isBehind($0) } ?? false
            self.loss = loss ?? (isRestored ? .restored(database: database.path) : nil)
            let restoration = try Restoration(
                of: last,
                declaredBy: past.declaration,
                coding,
                in: database.path
            )
            (self.state, self.newest) = (restoration.state, restoration.newest)
            // If the program writes this state in another form than the one before it did, the same
            // seq would mean other bytes.
            let goesOn = restoration.isAsFound && past.isWhole && !isRestored
            self.epoch = (goesOn ? past.epoch : nil) ?? Epoch.random().description
        } else {
            let wasThere = database.directory.last != nil
            self.loss = loss ?? (wasThere ? .missing(database: database.path) : nil)
            self.state = coding.initial
            self.newest = RecordedTransition(
                seq: 0,
                old: nil,
                new: coding.recorded(self.state),
                at: .now
            )
            self.epoch = Epoch.random().description
        }
        // What is about to be written counts; what all began with does not.
        let newest = self.newest.seq
        let isNew = past.newest.map { $0.seq < newest } ?? false
        self.oldest = past.oldest ?? (isNew ? newest : newest + 1)
        do {
            try database.begin(
                with: HistoryDatabase.Beginning(
                    newest: self.newest,
                    epoch: self.epoch,
                    declaration: coding.declaration
                )
            )
            self.trouble = nil
        } catch let error as DatabaseError where error.isOfTheDisk {
            self.trouble = database.sentence(for: error)
        }
    }
}

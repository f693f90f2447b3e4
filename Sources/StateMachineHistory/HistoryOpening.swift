import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// A history that has been opened: where the last run ended, and what this one starts from.
struct HistoryOpening {
    let database: HistoryDatabase
    let epoch: String
    /// The numberings that it continues.
    let earlier: [EarlierNumbering]
    /// The newest transition, as this program writes it, and the state that it led to.
    let newest: RecordedTransition
    let value: Value
    /// The newest transition if opening made it; nil if it was found.
    let carriedOver: RecordedTransition?
    /// The oldest transition that is kept; one past the newest if there is none.
    let oldest: UInt64
    let loss: HistoryLoss?
    /// Why the disk accepts no writes; nil if it does.
    let trouble: String?
    /// The starts of stays; nil for a machine that has none.
    let starts: StayStarts?
    /// Whether the machine was booted since the last run, and that run's stay has not ended.
    let isFirstInBoot: Bool
    /// The holds and guards that were there.
    let voters: [KeptVoter]

    init(
        in path: String,
        schema: any Schema,
        options: HistoryOptions,
        boot: String?,
        clock: any StayClock,
        timeout: Duration
    ) throws {
        let directory = try StateDirectory(path)
        func open(after loss: HistoryLoss?) throws -> Self {
            let database = HistoryDatabase(
                in: directory,
                hasStays: schema.hasStays,
                durability: options.durability,
                boot: boot,
                timeout: timeout
            )
            return try Self(database, schema, clock, after: loss)
        }
        func openAnew() throws -> Self {
            // As in `20261121T120000.000000Z`.
            let time = WallTime.now.rfc3339.filter { $0 != "-" && $0 != ":" }
            let aside = try directory.setDatabaseAside(at: time)
            return try open(after: .corrupt(setAside: aside))
        }
        do {
            self =
                try directory.hasDatabaseLostItsBeginning ? openAnew() : open(after: nil)
        } catch let error as SQLiteError where error.kind == .isCorrupt {
            self = try openAnew()
        } catch let error as HistoryError where error.isDamage {
            self = try openAnew()
        } catch let error as SQLiteError {
            throw HistoryError(
                "cannot use \(directory.database): \(error.sentence)",
                isLasting: error.isLasting
            )
        }
    }

    private init(
        _ database: HistoryDatabase,
        _ schema: any Schema,
        _ clock: any StayClock,
        after loss: HistoryLoss?
    ) throws {
        let past = try database.past()
        var newest: RecordedTransition
        self.database = database
        self.voters = past.voters
        if let last = past.newest {
            let isRestored = database.directory.last.map { past.isBehind($0) } ?? false
            self.loss = loss ?? (isRestored ? .restored(database: database.path) : nil)
            let restoration = try Restoration(
                of: last,
                declaredBy: past.declaration,
                schema,
                in: database.path
            )
            self.value = restoration.value
            newest = restoration.newest
            // If this program encodes the state differently from the one before, the same seq would
            // mean other bytes.
            let goesOn = restoration.isAsFound && past.isWhole && !isRestored
            self.epoch = (goesOn ? past.epoch : nil) ?? Epoch.random().description
            // Where the newest is encoded differently, cursors that name it are of no use.
            let isRecoded = !restoration.isAsFound && last.seq > 0
            self.earlier = past.numberings(
                upTo: isRecoded ? last.seq - 1 : last.seq,
                isContinued: goesOn
            )
        } else {
            let wasThere = database.directory.last != nil
            self.loss = loss ?? (wasThere ? .missing(database: database.path) : nil)
            self.value = schema.initial
            newest = RecordedTransition(
                seq: 0,
                old: nil,
                new: schema.recorded(self.value),
                at: .now,
                stay: !schema.hasStays ? nil : 0
            )
            self.epoch = Epoch.random().description
            self.earlier = []
        }
        // What is about to be written counts; the initial state does not.
        let isNew = past.newest.map { $0.seq < newest.seq } ?? false
        self.oldest = past.oldest ?? (isNew ? newest.seq : newest.seq + 1)
        let stay = StayRestoration(of: newest, after: past, in: database.boot, at: clock.moment)
        self.isFirstInBoot = stay.isFirstInBoot
        self.starts = schema.hasStays ? StayStarts(stay.start, clock: clock) : nil
        if isNew {
            var writer = LineWriter()
            let due = schema.encoded(self.value).deadline?.due(since: stay.start)
            newest.due = due?.text(by: &writer)
        }
        self.newest = newest
        self.carriedOver = isNew ? newest : nil
        // The effect of the boot on the stay comes first: till then the stay is one of the boot
        // before.
        let isLeft = stay.isFirstInBoot && schema.boot(of: self.value) != nil
        do {
            try database.begin(
                with: HistoryDatabase.Beginning(
                    newest: self.newest,
                    epoch: self.epoch,
                    earlier: self.earlier,
                    declaration: schema.declaration,
                    stay: self.starts == nil || isLeft ? nil : stay.start
                )
            )
            self.trouble = nil
        } catch let error as SQLiteError where database.isOfTheDisk(error) {
            self.trouble = database.sentence(for: error)
        }
    }
}

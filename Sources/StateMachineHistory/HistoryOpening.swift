import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// A history that has been opened: where the last run ended, and what this one starts from.
struct HistoryOpening {
    let database: HistoryDatabase
    let epoch: Epoch
    /// The numberings that it continues.
    let earlier: [Cursor]
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
    /// How far linked machines were followed; nil for a machine that has no stays.
    let links: LinkCursors?
    /// Whether the machine was booted since the last run, and that run's stay has not ended.
    let isFirstInBoot: Bool
    /// The holds and guards that were there.
    let voters: [KeptVoter]

    init(
        in path: String,
        schema: Schema,
        options: HistoryOptions,
        boot: String?,
        clock: any StayClock,
        timeout: Duration
    ) throws {
        self = try HistoryDatabase.open(
            in: path,
            hasStays: schema.hasStays,
            options: options,
            boot: boot,
            timeout: timeout
        ) { try Self($0, schema, clock, after: $1.map { .corrupt(setAside: $0.file) }) }
    }

    private init(
        _ database: HistoryDatabase,
        _ schema: Schema,
        _ clock: any StayClock,
        after loss: HistoryLoss?
    ) throws {
        let past = try database.past()
        var newest: RecordedTransition
        self.database = database
        self.voters = past.voters
        if let last = past.newest {
            let isRestored =
                past.epoch == nil || database.directory.last.map { past.isBehind($0) } ?? false
            self.loss = loss ?? (isRestored ? .restored(database: database.path) : nil)
            let restoration = try Restoration(
                of: last,
                declaredBy: past.declaration,
                schema,
                in: database.path
            )
            newest = restoration.newest
            let stay = newest.stay ?? newest.seq
            // A stay that begins now knows nothing yet.
            let known = stay <= last.seq ? past.times : []
            self.value =
                schema.rules?.knowing(known, restoration.value, in: stay) ?? restoration.value
            // If this program encodes the state differently from the one before, the same seq would
            // mean other bytes.
            // And with others that share the machine, who go on by themselves.
            let isAlone = past.sharing == nil
            let goesOn = restoration.isAsFound && past.isWhole && !isRestored && isAlone
            self.epoch = (goesOn ? past.epoch : nil) ?? .random()
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
            self.epoch = .random()
            self.earlier = []
        }
        // What is about to be written counts; the initial state does not.
        let isNew = past.newest.map { $0.seq < newest.seq } ?? false
        self.oldest = past.oldest ?? (isNew ? newest.seq : newest.seq + 1)
        let stay = StayRestoration(of: newest, after: past, in: database.boot, at: clock.moment)
        self.isFirstInBoot = stay.isFirstInBoot
        self.starts = schema.hasStays ? StayStarts(stay.start, clock: clock) : nil
        // Of an earlier stay it says nothing of this one.
        let left = past.links.flatMap { $0.stay == stay.start.stay ? $0 : nil }
        self.links = schema.hasStays ? LinkCursors(after: left) : nil
        let place = Place(
            seq: newest.seq,
            value: self.value,
            at: newest.at,
            stay: newest.stay ?? newest.seq
        )
        if isNew {
            newest.due = schema.due(at: place) { stay.start }?.text
        }
        self.newest = newest
        self.carriedOver = isNew ? newest : nil
        // The effect of the boot on the stay comes first: till then the stay is one of the boot
        // before.
        let isLeft = stay.isFirstInBoot && schema.move(on: .boot, at: place) != nil
        let start = HistoryDatabase.Beginning.Start(
            newest: self.newest,
            epoch: self.epoch,
            earlier: self.earlier,
            declaration: schema.declaration,
            stay: self.starts == nil || isLeft ? nil : stay.start,
            times: schema.rules?.times(of: self.value) ?? []
        )
        self.trouble = try database.trouble {
            try database.begin(with: HistoryDatabase.Beginning(start: start))
        }
    }
}

/// Where a run goes on: the state that the last one left, as one of this run's states.
struct Restoration {
    /// The newest transition: the one that was found, or a further one that says what became of its
    /// state.
    let newest: RecordedTransition
    let value: Value
    /// Whether the row that was found is left as it is, byte for byte.
    let isAsFound: Bool

    /// - Parameters:
    ///   - last: the newest transition that was found.
    ///   - declaration: the declaration of its state; nil if its states were built into a program.
    ///   - schema: this run's states.
    ///   - file: the database.
    /// - Throws: `HistoryError`, which says what to do; then nothing is written.
    init(
        of last: RecordedTransition,
        declaredBy declaration: RecordedDeclaration?,
        _ schema: Schema,
        in file: String
    ) throws(HistoryError) {
        try Self.check(declaration, isOf: schema, in: file)
        let (value, stays) = try Self.carried(last, declaration, schema, in: file)
        self.value = value
        let recorded = schema.recorded(value)
        let isNew = last.seq == 0 && declaration == nil
        if recorded == last.new, stays {
            (self.newest, self.isAsFound) = (last, true)
        } else if isNew || schema.declaration == nil && stays && recorded.says(the: last.new) {
            // Nothing has ever happened, or the same state is encoded differently.
            var recoded = last
            recoded.new = recorded
            (self.newest, self.isAsFound) = (recoded, false)
        } else {
            // Past rows stay as they were written.
            self.isAsFound = true
            self.newest = RecordedTransition(
                seq: last.seq + 1,
                old: last.new,
                new: recorded,
                at: .now,
                cause: schema.declaration?.cause ?? "another version of the program",
                stay: !schema.hasStays ? nil : stays ? last.stay : last.seq + 1
            )
        }
    }

    /// Refuses the history of another machine.
    private static func check(
        _ declaration: RecordedDeclaration?,
        isOf schema: Schema,
        in file: String
    ) throws(HistoryError) {
        guard let own = schema.declaration else {
            guard let declaration else { return }
            let name = declaration.machine.map { " (\($0.quoted))" } ?? ""
            throw HistoryError(
                "\(file) is the history of a machine declared in a file\(name); give that file with "
                    + "--machine, or move the database away to start a new history"
            )
        }
        if let old = declaration?.machine, let new = own.machine, old != new {
            throw HistoryError(
                "\(file) is the history of the machine \(old.quoted), but the file declares "
                    + "\(new.quoted); write \"machine: \(old)\" if they are the same, or move the database away "
                    + "to start a new history"
            )
        }
    }

    /// The state, and whether the stay goes on.
    private static func carried(
        _ last: RecordedTransition,
        _ declaration: RecordedDeclaration?,
        _ schema: Schema,
        in file: String
    ) throws(HistoryError) -> (value: Value, stays: Bool) {
        let data = JSONValue(parsing: last.new.data)?.members ?? []
        do {
            return (try schema.carried(last.new.name, data: data), true)
        } catch {
            if declaration == nil, last.seq == 0 { return (schema.initial, true) }
            if (declaration == nil) == (schema.declaration == nil), let lost = schema.lost(data) {
                return (lost, false)
            }
            guard schema.declaration != nil else {
                throw HistoryError(
                    "\(file) ends in a state that this program does not know: \(error.sentence); name in "
                        + "\"was\" what it is called now or in \"lost\" where to go instead, start the "
                        + "program that wrote it, or move the file away to start a new history"
                )
            }
            guard declaration != nil else {
                throw HistoryError(
                    "\(file) was written for a machine without this file: \(error.sentence); start the program that "
                        + "wrote it, or move the file away to start a new history"
                )
            }
            let trouble =
                error.hasState
                ? "whose data the machine's file does not allow: \(error.sentence); allow it there,"
                : "that the machine's file does not have: \(error.sentence);"
            throw HistoryError(
                "\(file) ends in a state \(trouble) write \"lost: STATE\" in the machine's file for where to "
                    + "go instead, or start with the old file and set another state first"
            )
        }
    }
}

extension RecordedTransition.State {
    /// Whether it is the same state with the same values, however they are written.
    fileprivate func says(the other: Self) -> Bool {
        self.name == other.name && JSONValue(parsing: self.data) == JSONValue(parsing: other.data)
    }
}

/// The start of the stay in which a run goes on.
struct StayRestoration {
    let start: StayStart
    /// Whether the machine was booted since the last run, and the stay is from before that.
    let isFirstInBoot: Bool

    /// - Parameters:
    ///   - newest: the transition that this run goes on from.
    ///   - past: what was found.
    ///   - boot: the present boot; nil if not known.
    ///   - now: what the clocks show.
    init(
        of newest: RecordedTransition,
        after past: HistoryDatabase.Past,
        in boot: String?,
        at now: StayMoment
    ) {
        let stay = newest.stay ?? newest.seq
        guard let last = past.newest, stay <= last.seq else {
            // The stay begins with this run.
            self.start = StayStart(stay: stay, moment: now)
            self.isFirstInBoot = false
            return
        }
        // A boot in which less time has passed than had then is another one of that name: a snapshot
        // of a computer, or another time namespace.
        let isOlder = past.stay.map { $0.start.moment.uptime > now.uptime } ?? false
        if let noted = past.stay, noted.start.stay == stay {
            let isSameBoot = boot != nil && boot == noted.boot && !isOlder
            self.start = isSameBoot ? noted.start.adjusted(to: now) : noted.start.carried(to: now)
        } else {
            // An earlier version recorded nothing, and nothing is recorded for a stay without a
            // deadline.
            let begun = StayMoment(uptime: now.uptime, wall: past.begun ?? last.at)
            self.start = StayStart(stay: stay, moment: begun).carried(to: now)
        }
        let lastBoot = past.stay?.boot ?? past.boot
        self.isFirstInBoot =
            boot != nil && lastBoot != nil
            && (boot != lastBoot || isOlder && boot == past.stay?.boot)
    }
}

// What the database has from the run before, and what is written about this one.
extension HistoryDatabase {
    /// Where the last run ended.
    struct Past {
        /// The numbering; nil if there is none, or none that is one.
        var epoch: Epoch?
        /// The numberings that it continues, oldest first.
        var earlier: [Cursor] = []
        /// Whether nothing of it can have been lost.
        var isWhole: Bool = true
        /// The newest transition; nil if there is none at all.
        var newest: RecordedTransition?
        /// The oldest transition except the initial state; nil if there is none.
        var oldest: UInt64?
        /// The declaration of the newest state; nil if its states were built into a program.
        var declaration: RecordedDeclaration?
        /// The boot in which it was written; nil if not known.
        var boot: String?
        /// When the newest transition's stay began, or the oldest kept row of it was made; nil if
        /// there is no transition.
        var begun: WallTime?
        /// The last recorded start of a stay; nil if there is none.
        var stay: NotedStay?
        /// What was known of the times of its state.
        var times: [KnownTime] = []
        /// How far linked machines were followed; nil if there is nothing.
        var links: KeptLinks?
        /// What was noted of the hosts that share the machine; nil if it was this one's alone.
        var sharing: KeptSharing?
        /// The holds and guards that were there.
        let voters: [KeptVoter]

        /// The most earlier numberings that are kept.
        ///
        /// 64: one for each loss of power; cursors from before that many are of no use.
        private static let mostNumberings = 64

        /// The numberings that a run continues which has all changes up to `end` as they were.
        func numberings(upTo end: UInt64, isContinued: Bool) -> [Cursor] {
            let own = isContinued ? nil : self.epoch.map { Cursor(epoch: $0, seq: end) }
            let cut = self.earlier.map { Cursor(epoch: $0.epoch, seq: min($0.seq, end)) }
            return (cut + [own].compactMap(\.self)).suffix(Self.mostNumberings)
        }

        /// Whether this ends before `last`, or has another numbering.
        func isBehind(_ last: Cursor) -> Bool {
            guard let epoch = self.epoch else { return false }
            return epoch != last.epoch || (self.newest?.seq ?? 0) < last.seq
        }
    }

    /// What a run starts from.
    struct Beginning {
        struct Start {
            /// Replaces any row with its seq.
            let newest: RecordedTransition
            let epoch: Epoch
            var earlier: [Cursor] = []
            /// The declaration of its state.
            let declaration: RecordedDeclaration?
            /// The start of the present stay; nil keeps the recorded one.
            var stay: StayStart?
            /// What is known of the times of its state, which is written with that.
            var times: [KnownTime] = []
        }

        /// Where it is; nil while that is not known of a machine that hosts share.
        let start: Start?
        /// What is known of those hosts; nil if the machine is this one's alone.
        var sharing: KeptSharing?
        /// The times of the present stay of a machine that hosts share; nil keeps the recorded ones.
        var times: StayTimes?
    }
}

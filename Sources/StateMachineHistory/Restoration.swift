import StateMachineCore
import StateMachineProtocol

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
        declaredBy declaration: HistoryDatabase.LastDeclaration?,
        _ schema: any Schema,
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
        _ declaration: HistoryDatabase.LastDeclaration?,
        isOf schema: any Schema,
        in file: String
    ) throws(HistoryError) {
        guard let own = schema.declaration else {
            guard let declaration else { return }
            let name = declaration.machine.map { " of \($0.quoted)" } ?? ""
            throw HistoryError(
                "\(file) is the history of a machine that a file declared\(name); name that file with "
                    + "--machine, or move the database away to start a new history"
            )
        }
        if let old = declaration?.machine, let new = own.machine, old != new {
            throw HistoryError(
                "\(file) is the history of the machine \(old.quoted), and the file declares "
                    + "\(new.quoted); write \"machine: \(old)\" if it is the same one, or move the database away "
                    + "to start a new history"
            )
        }
    }

    /// The state, and whether the stay goes on.
    private static func carried(
        _ last: RecordedTransition,
        _ declaration: HistoryDatabase.LastDeclaration?,
        _ schema: any Schema,
        in file: String
    ) throws(HistoryError) -> (value: Value, stays: Bool) {
        let data = JSONValue(parsing: last.new.data)?.members ?? []
        do {
            return (try schema.carried(last.new.name, data: data), true)
        } catch {
            if declaration == nil, last.seq == 0 { return (schema.initial, true) }
            if (declaration == nil) == (schema.declaration == nil), let lost = schema.lost {
                return (lost, false)
            }
            guard schema.declaration != nil else {
                throw HistoryError(
                    "\(file) ends in a state that this program does not know: \(error.sentence); let it say "
                        + "what that is called now (\"was\") or where to go then (\"lost\"), start the program "
                        + "that wrote it, or move the file away to start a new history"
                )
            }
            guard declaration != nil else {
                throw HistoryError(
                    "\(file) is the history of another machine: \(error.sentence); start the program that "
                        + "wrote it, or move the file away to start a new history"
                )
            }
            let trouble =
                error.hasState
                ? "whose data do not fit the file: \(error.sentence); widen the file,"
                : "that the file does not have: \(error.sentence); or"
            throw HistoryError(
                "\(file) ends in a state \(trouble) write \"lost: STATE\" for where to go then, or start with the "
                    + "file as it was and set another state first"
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

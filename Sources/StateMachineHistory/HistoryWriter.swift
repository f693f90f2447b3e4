import StateMachineCore
import StateMachineProtocol

/// Writes a history's transitions into its database, and the declarations of their states.
///
/// Belongs to the thread where groups are committed.
struct HistoryWriter {
    private let database: HistoryDatabase
    private let schema: Schema
    private let starts: StayStarts?
    private let links: LinkCursors?
    /// The newest transition that is in the database.
    private(set) var newest: UInt64
    /// The stay that it is in; nil of a machine that has none.
    private var stay: UInt64?
    /// Whether a group has failed since, for example because that one is gone.
    private var hasFailed = false
    /// Whether the recorded stay is from before this boot, so that the next one is recorded in any
    /// case.
    private var isStayDue: Bool
    /// What the database says of the present state's times; nil if that is not known.
    private var times: [KnownTime]?
    /// The newest declaration that is in the database.
    private var declaration: RecordedDeclaration?

    init(_ opening: HistoryOpening, _ schema: Schema) {
        self.database = opening.database
        self.schema = schema
        self.starts = opening.starts
        self.links = opening.links
        self.newest = opening.newest.seq
        self.stay = opening.starts == nil ? nil : opening.newest.stay ?? opening.newest.seq
        self.isStayDue = opening.isFirstInBoot
        self.times = opening.isFirstInBoot ? nil : schema.rules?.times(of: opening.value)
        self.declaration = schema.declaration
    }

    /// Writes a group, which has to follow the newest transition, in one transaction.
    ///
    /// - Returns: what has become of it.
    mutating func append(_ group: [Record]) -> Recorded {
        var addition = HistoryDatabase.Addition()
        addition.rows.reserveCapacity(group.count)
        var (seq, declaration) = (self.newest, self.declaration)
        var follows = !self.hasFailed
        // The state that the group leads to, if it says so, and where it is.
        var (state, last) = (Value?.none, Change?.none)
        for record in group {
            switch record {
            case .change(let change):
                follows = follows && seq + 1 == change.seq
                let old = follows ? nil : self.schema.recorded(change.old)
                (seq, follows) = (change.seq, true)
                // A machine that can only be set has no times.
                if self.starts != nil { (state, last) = (change.new, change) }
                addition.rows.append(self.row(of: change, leaving: old, addition.corrected))
                if change.beginsStay { addition.links = self.links(at: change.place) }
                // States that are built into a program have none.
                if declaration != nil,
                    let declared = self.schema.schema(of: change.new).declaration,
                    declared !== declaration
                {
                    declaration = declared
                    addition.declarations.append((declared, seq))
                }
            case .voter(let voter): addition.voters.append((voter.number, voter))
            case .voterEnded(let number): addition.voters.append((number, nil))
            case .stay(let start): addition.corrected = start
            case .times(let value): state = value
            // A stay that begins in the same group is the newer one.
            case .links(let links) where links.stay < addition.links?.stay ?? 0: break
            case .links(let links): addition.links = links
            case .declared(let declared, let seq) where declared !== declaration:
                // It may be there already, with the change that it made.
                declaration = declared
                addition.declarations.append((declared, seq))
            case .declared: break
            }
        }
        addition.stay = self.stay(begunIn: addition.rows, addition.corrected)
        let times = state.flatMap { self.schema.rules?.times(of: $0) } ?? self.times
        if let times, times != self.times {
            addition.times = (times, self.start(after: last, addition.corrected))
        }
        do {
            try self.database.append(addition)
        } catch {
            self.starts?.drop(after: self.newest)
            self.hasFailed = true
            let why = self.database.sentence(for: error)
            return self.database.undo(after: error) ? .failed(why) : .unsure(why)
        }
        (self.newest, self.declaration, self.hasFailed) = (seq, declaration, false)
        self.times = times
        if let last { self.stay = last.stay }
        if addition.stay != nil { self.isStayDue = false }
        return .committed
    }

    /// The row of a change; `old` is what it left, unless the row before says that, and `start` from when on a stay
    /// counts, if that has changed in its group.
    private func row(
        of change: Change,
        leaving old: RecordedTransition.State?,
        _ start: StayStart?
    ) -> HistoryDatabase.NewRow {
        let due = self.starts.flatMap { starts in
            self.schema.due(at: change.place) {
                let known = self.schema.start(at: change.place, by: starts)
                return start.flatMap { $0.stay == change.stay ? $0 : nil } ?? known
            }
        }
        return HistoryDatabase.NewRow(
            change: change,
            new: self.schema.encoded(change.new),
            old: old,
            due: due?.text
        )
    }

    /// How far linked machines have been followed where a stay begins; nil if its state looks for nothing at them.
    private func links(at place: Place) -> KeptLinks? {
        guard let links, let lookouts = self.schema.rules?.lookouts(at: place), !lookouts.isEmpty
        else { return nil }
        return KeptLinks(stay: place.stay, cursors: links.of(lookouts.map(\.link)))
    }

    /// The start of the last stay that the rows begin; nil if they begin none, or that need not be
    /// recorded.
    ///
    /// Nothing is recorded for a stay without a deadline: it began when its change says, which is
    /// what opening assumes if nothing is recorded. `renewed` is the last that has begun anew in the group.
    private func stay(
        begunIn rows: [HistoryDatabase.NewRow],
        _ renewed: StayStart?
    ) -> StayStart? {
        guard let starts, let first = rows.last(where: { $0.change.beginsStay }),
            first.due != nil || self.isStayDue
        else { return nil }
        let change = first.change
        if let renewed, renewed.stay == change.seq { return renewed }
        return self.schema.start(at: change.place, by: starts)
    }

    /// From when on the stay counts that the last change of a group is in; nil: in the one before.
    private func start(after last: Change?, _ corrected: StayStart?) -> StayStart? {
        guard let starts, let stay = last?.stay ?? self.stay else { return corrected }
        if let corrected, corrected.stay == stay { return corrected }
        return last.map { self.schema.start(at: $0.place, by: starts) } ?? starts.newest(of: stay)
    }
}

extension Schema {
    /// A state as recorded: the bytes that are sent.
    func recorded(_ value: Value) -> RecordedTransition.State {
        RecordedTransition.State(name: value.name, data: self.encoded(value).dataText)
    }
}

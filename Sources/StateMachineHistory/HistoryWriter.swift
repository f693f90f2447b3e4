import StateMachineCore
import StateMachineProtocol

/// Writes a history's transitions into its database, and the declarations of their states.
///
/// Belongs to the thread where groups are committed.
struct HistoryWriter {
    private let database: HistoryDatabase
    private let schema: Schema
    private let starts: StayStarts?
    /// The newest transition that is in the database.
    private(set) var newest: UInt64
    /// Whether a group has failed since, for example because that one is gone.
    private var hasFailed = false
    /// Whether the recorded stay is from before this boot, so that the next one is recorded in any
    /// case.
    private var isStayDue: Bool
    /// The newest declaration that is in the database.
    private var declaration: RecordedDeclaration?

    init(_ opening: HistoryOpening, _ schema: Schema) {
        self.database = opening.database
        self.schema = schema
        self.starts = opening.starts
        self.newest = opening.newest.seq
        self.isStayDue = opening.isFirstInBoot
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
        for record in group {
            switch record {
            case .change(let change):
                follows = follows && seq + 1 == change.seq
                let old = follows ? nil : self.schema.recorded(change.old)
                (seq, follows) = (change.seq, true)
                addition.rows.append(self.row(of: change, leaving: old, addition.corrected))
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
            case .declared(let declared, let seq) where declared !== declaration:
                // It may be there already, with the change that it made.
                declaration = declared
                addition.declarations.append((declared, seq))
            case .declared: break
            }
        }
        addition.stay = self.stay(begunIn: addition.rows, addition.corrected)
        do {
            try self.database.append(addition)
        } catch {
            self.starts?.drop(after: self.newest)
            self.hasFailed = true
            let why = self.database.sentence(for: error)
            return self.database.undo(after: error) ? .failed(why) : .unsure(why)
        }
        (self.newest, self.declaration, self.hasFailed) = (seq, declaration, false)
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
                let known = starts.start(of: change.stay, at: change.seq, change.at)
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
        return starts.start(of: change.seq, at: change.seq, change.at)
    }
}

extension Schema {
    /// A state as recorded: the bytes that are sent.
    func recorded(_ value: Value) -> RecordedTransition.State {
        RecordedTransition.State(name: value.name, data: self.encoded(value).dataText)
    }
}

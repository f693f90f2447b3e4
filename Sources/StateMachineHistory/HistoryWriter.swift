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
    /// The state that it led to, and that the next one leaves.
    private var state: RecordedTransition.State
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
        self.state = opening.newest.new
        self.isStayDue = opening.isFirstInBoot
        self.declaration = schema.declaration
    }

    /// Writes a group, which has to follow the newest transition, in one transaction.
    ///
    /// - Returns: why it failed; nil if it is in the database.
    mutating func append(_ group: [Record]) -> String? {
        var addition = HistoryDatabase.Addition()
        var changes: [Change] = []
        changes.reserveCapacity(group.count)
        for record in group {
            switch record {
            case .change(let change): changes.append(change)
            case .voter(let voter): addition.voters.append((voter.number, voter))
            case .voterEnded(let number): addition.voters.append((number, nil))
            case .stay(let start): addition.corrected = start
            case .declared(let declaration, let seq):
                // The newest may be there already, with the change that it made.
                if declaration !== self.declaration {
                    addition.declarations.append((declaration, seq))
                }
            }
        }
        let rows = self.rows(of: changes)
        let stay = self.stay(begunIn: rows)
        let declared = addition.declarations.last?.declaration ?? self.declaration
        if let new = self.newDeclaration(of: changes, after: declared) {
            addition.declarations.append(new)
        }
        (addition.rows, addition.stay) = (rows, stay)
        do {
            try self.database.append(addition)
        } catch {
            self.starts?.drop(after: self.newest)
            return self.database.sentence(for: error)
        }
        if let last = addition.declarations.last { self.declaration = last.declaration }
        if let last = rows.last { (self.newest, self.state) = (last.seq, last.new) }
        if stay != nil { self.isStayDue = false }
        return nil
    }

    private func rows(of group: [Change]) -> [RecordedTransition] {
        var (seq, state) = (self.newest, self.state)
        return group.map { change in
            // What the last row entered is what this one leaves.
            let old = seq + 1 == change.seq ? state : self.schema.recorded(change.old)
            (seq, state) = (change.seq, self.schema.recorded(change.new))
            let due = self.starts.flatMap { starts in
                self.schema.due(at: change.place) {
                    starts.start(of: change.stay, at: seq, change.at)
                }
            }
            return RecordedTransition(
                seq: seq,
                old: old,
                new: state,
                at: change.at,
                cause: change.cause,
                by: change.setter,
                stay: change.stay,
                due: due?.text
            )
        }
    }

    /// The start of the last stay that the rows begin; nil if they begin none, or that need not be
    /// recorded.
    ///
    /// Nothing is recorded for a stay without a deadline: it began when its change says, which is
    /// what opening assumes if nothing is recorded.
    private func stay(begunIn rows: [RecordedTransition]) -> StayStart? {
        guard let first = rows.last(where: { $0.stay == $0.seq }),
            first.due != nil || self.isStayDue
        else { return nil }
        return self.starts?.start(of: first.seq, at: first.seq, first.at)
    }

    /// The declaration of the changes' states, if it is another than that one.
    private func newDeclaration(
        of changes: [Change],
        after declared: RecordedDeclaration?
    ) -> HistoryDatabase.NewDeclaration? {
        guard let last = changes.last, let newest = self.schema.schema(of: last.new).declaration,
            newest !== declared
        else { return nil }
        let first =
            changes.first { self.schema.schema(of: $0.new).declaration === newest } ?? last
        return (newest, first.seq)
    }
}

extension Schema {
    /// A state as recorded: the bytes that are sent.
    func recorded(_ value: Value) -> RecordedTransition.State {
        RecordedTransition.State(name: value.name, data: self.encoded(value).dataText)
    }
}

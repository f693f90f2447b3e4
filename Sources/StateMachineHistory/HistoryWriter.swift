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
    /// The newest state's declaration: in the database, or to be written with the next transition.
    private var declaration: RecordedDeclaration?
    /// The declaration that is still to be written.
    private var unwritten: HistoryDatabase.NewDeclaration?

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
    mutating func append(_ group: [Change]) -> String? {
        let rows = self.rows(of: group)
        let stay = self.stay(begunIn: rows)
        let declaration = self.newDeclaration(of: group)
        do {
            try self.database.append(rows, stay, declaring: declaration)
        } catch {
            self.starts?.drop(after: self.newest)
            return self.database.sentence(for: error)
        }
        if let declaration { self.wrote(declaration) }
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

    /// Writes the declaration of the states from `seq` on; if that fails, the next group does.
    ///
    /// - Returns: why it failed; nil if it is in the database.
    mutating func note(_ declaration: RecordedDeclaration, from seq: UInt64) -> String? {
        guard declaration !== self.declaration || self.unwritten != nil else { return nil }
        do {
            try self.database.note((declaration, seq))
        } catch {
            self.declaration = declaration
            self.unwritten = (declaration, seq)
            return self.database.sentence(for: error)
        }
        self.wrote((declaration, seq))
        return nil
    }

    /// The declaration of the group's states, if it is not in the database.
    private func newDeclaration(of group: [Change]) -> HistoryDatabase.NewDeclaration? {
        guard let last = group.last, let newest = self.schema.schema(of: last.new).declaration
        else {
            return nil
        }
        guard newest !== self.declaration else { return self.unwritten }
        let first = group.first { self.schema.schema(of: $0.new).declaration === newest } ?? last
        return (newest, first.seq)
    }

    private mutating func wrote(_ declaration: HistoryDatabase.NewDeclaration) {
        self.declaration = declaration.declaration
        self.unwritten = nil
    }
}

extension Schema {
    /// A state as recorded: the bytes that are sent.
    func recorded(_ value: Value) -> RecordedTransition.State {
        RecordedTransition.State(name: value.name, data: self.encoded(value).dataText)
    }
}

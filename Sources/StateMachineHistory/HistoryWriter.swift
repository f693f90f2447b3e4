import StateMachineCore
import StateMachineProtocol

/// Writes a history's transitions into its database, and the declarations of their states.
///
/// Belongs to the thread where groups are committed.
struct HistoryWriter {
    private let database: HistoryDatabase
    private let schema: any Schema
    private let starts: StayStarts?
    private var form: WrittenForm
    /// The newest state's declaration: in the database, or to be written with the next transition.
    private var declaration: RecordedDeclaration?
    /// The declaration that is still to be written.
    private var unwritten: HistoryDatabase.NewDeclaration?

    init(_ opening: HistoryOpening, _ schema: any Schema) {
        self.database = opening.database
        self.schema = schema
        self.starts = opening.starts
        self.declaration = schema.declaration
        self.form = WrittenForm(
            schema,
            opening.starts,
            after: opening.newest,
            isStayDue: opening.isFirstInBoot
        )
    }

    /// The newest transition that is in the database.
    var newest: UInt64 { self.form.newest.seq }

    /// Writes a group in one transaction.
    ///
    /// - Returns: why it failed; nil if it is in the database.
    mutating func append(_ group: [Change]) -> String? {
        let written = self.form.written(group)
        let declaration = self.newDeclaration(of: group)
        do {
            try withExtendedLifetime(written.states) {
                try self.database.append(written.rows, written.stay, declaring: declaration)
            }
        } catch {
            self.starts?.drop(after: self.newest)
            return self.database.sentence(for: error)
        }
        if let declaration { self.wrote(declaration) }
        self.form.newest = (group[group.count - 1].seq, written.states[written.states.count - 1])
        if written.stay != nil { self.form.isStayDue = false }
        return nil
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
        guard let last = group.last, let newest = self.schema.declaration(of: last.new) else {
            return nil
        }
        guard newest !== self.declaration else { return self.unwritten }
        let first = group.first { self.schema.declaration(of: $0.new) === newest } ?? last
        return (newest, first.seq)
    }

    private mutating func wrote(_ declaration: HistoryDatabase.NewDeclaration) {
        self.declaration = declaration.declaration
        self.unwritten = nil
    }
}

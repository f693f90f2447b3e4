#if Cluster
import StateMachineCore
import StateMachineProtocol

/// Where the machine is here, once all that it was told is entered, and what to enter for what others make of it.
struct EnteredPlace {
    private let form: SharedForm
    /// Nil: it is not known where it is.
    private(set) var place: Place?
    /// Whether others have entered a state since that there is not here; then the machine stays where it was, and arrives with the
    /// first change to a state that there is.
    private(set) var isAstray = false

    init(_ form: SharedForm) { self.form = form }

    /// The machine has gone there by a change of its own host's.
    mutating func entered(_ change: Change) { self.place = change.place }

    /// What to enter for those blocks.
    mutating func follow(_ blocks: [Block]) -> [Change] {
        blocks.flatMap { block in
            zip(block.first..., block.changes).compactMap { self.enter($1, $0, isArrival: false) }
        }
    }

    /// What to enter since the machine is where that head is; nil: there is no such state here.
    mutating func arrive(at head: Head) -> Change? {
        self.enter(head.last, head.seq, isArrival: true)
    }

    private mutating func enter(
        _ change: SharedChange,
        _ seq: UInt64,
        isArrival: Bool
    ) -> Change? {
        let present = self.place?.value ?? self.form.schema.initial
        let new: Value
        do {
            new = try self.form.value(change, beside: present)
        } catch {
            self.isAstray = true
            return nil
        }
        let isArrival = exchange(&self.isAstray, with: false) || isArrival
        let entered = self.form.change(change, seq, from: present, to: new, isArrival: isArrival)
        self.place = entered.place
        return entered
    }
}
#endif

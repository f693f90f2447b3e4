#if Cluster
import StateMachineCore
import StateMachineProtocol

/// Where the machine is here, once all that it was told is entered, what to enter for what others make of it, and what this host keeps
/// of all that.
struct EnteredPlace {
    private let form: SharedForm
    /// Nil: it is not known where it is.
    private(set) var place: Place?
    /// Whether others have entered a state since that there is not here; then the machine stays where it was, and arrives with the
    /// first change to a state that there is.
    private(set) var isAstray: Bool
    /// Nil: this host keeps nothing.
    private var feed: CacheFeed?

    init(_ form: SharedForm, at place: Place?, keeping cache: (any SharedCache)?) {
        (self.form, self.place) = (form, place)
        self.feed = cache.map { CacheFeed($0, in: form) }
        self.isAstray = place == nil && cache?.left != nil
    }

    /// The machine has gone there by changes of its own host's.
    mutating func entered(_ changes: [Change]) {
        guard let last = changes.last else { return }
        self.place = last.place
        for change in changes {
            self.feed?.came(self.form.shared(change), change.seq, as: change.new)
        }
    }

    /// What to enter for those blocks.
    mutating func follow(_ blocks: [Block]) -> [Change] {
        blocks.flatMap { block in
            zip(block.first..., block.changes).compactMap { seq, change in
                let value = self.value(change)
                self.feed?.came(change, seq, as: value)
                return self.enter(change, seq, as: value, isArrival: false)
            }
        }
    }

    /// What to enter since the machine is where that head is; nil: there is no such state here.
    mutating func arrive(at head: Head, knowing memory: Restoration.Memory?) -> Change? {
        let value = self.value(head.last)
        if let memory { self.feed?.arrived(at: head, as: value, knowing: memory) }
        return self.enter(head.last, head.seq, as: value, isArrival: true)
    }

    /// Keeps what has gathered, with what the engine is known by now.
    mutating func keep(knowing memory: Restoration.Memory?) { self.feed?.flush(knowing: memory) }

    /// Keeps what the engine is known by: nothing comes any more.
    func end(knowing memory: Restoration.Memory?) { self.feed?.end(knowing: memory) }

    /// The state that a change has led to; nil if there is no such state here.
    private func value(_ change: SharedChange) -> Value? {
        try? self.form.value(change, beside: self.place?.value ?? self.form.schema.initial)
    }

    private mutating func enter(
        _ change: SharedChange,
        _ seq: UInt64,
        as new: Value?,
        isArrival: Bool
    ) -> Change? {
        guard let new else {
            self.isAstray = true
            return nil
        }
        let present = self.place?.value ?? self.form.schema.initial
        let isArrival = exchange(&self.isAstray, with: false) || isArrival
        let entered = self.form.change(change, seq, from: present, to: new, isArrival: isArrival)
        self.place = entered.place
        return entered
    }
}
#endif

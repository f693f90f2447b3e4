#if Cluster
import StateMachineCore
import StateMachineProtocol

/// Where the machine is here, once all that it was told is entered, what to enter for what others make of it, and what this host keeps
/// of all that.
struct EnteredPlace {
    private let form: SharedForm
    /// From when on stays count.
    private let starts: StayStarts
    /// Nil: it is not known where it is.
    private(set) var place: Place?
    /// What led there, as all hosts have it; nil: that is not known.
    private(set) var last: SharedChange?
    /// Whether others have entered a state since that there is not here; then the machine stays where it was, and arrives with the
    /// first change to a state that there is.
    private(set) var isAstray: Bool
    /// Nil: this host keeps nothing.
    private var feed: CacheFeed?

    init(
        _ form: SharedForm,
        at place: Place?,
        by starts: StayStarts,
        keeping cache: (any SharedCache)?
    ) {
        (self.form, self.starts, self.place) = (form, starts, place)
        self.feed = cache.map { CacheFeed($0, in: form) }
        self.isAstray = place == nil && cache?.left != nil
    }

    /// What this host wants to commit next.
    func group(_ records: [Record]) -> OwnGroup {
        OwnGroup(records, in: self.form, by: self.starts, at: self.place, after: self.last)
    }

    /// It was committed.
    mutating func entered(_ group: OwnGroup) {
        self.place = group.place ?? self.place
        self.last = group.renewed ?? group.changes.last?.shared ?? self.last
        for (change, shared) in group.changes {
            self.feed?.came(shared, change.seq, as: change.new)
        }
        if let renewed = group.renewed { self.feed?.renewed(renewed) }
    }

    /// It was not: the stays that were to begin in it have not.
    func dropped() {
        if let place { self.starts.drop(after: place.seq) }
    }

    /// What to enter for what others have done.
    mutating func follow(_ progress: SharedMachine.Progress) -> [Change] {
        let changes = progress.blocks.flatMap { block in
            zip(block.first..., block.changes).compactMap { seq, change in
                let value = self.value(change)
                self.feed?.came(change, seq, as: value)
                return self.enter(change, seq, as: value, .made)
            }
        }
        guard let renewed = progress.renewed else { return changes }
        self.feed?.renewed(renewed)
        self.last = renewed
        guard let place, !self.isAstray, let value = self.value(renewed) else { return changes }
        return changes + [self.entering(renewed, place.seq, as: value, .renewal)]
    }

    /// What to enter since the machine is where that head is; nil: there is no such state here.
    mutating func arrive(at head: Head, knowing memory: Restoration.Memory?) -> Change? {
        let value = self.value(head.last)
        if let memory { self.feed?.arrived(at: head, as: value, knowing: memory) }
        return self.enter(head.last, head.seq, as: value, .arrival)
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
        _ kind: Change.Kind
    ) -> Change? {
        self.last = change
        guard let new else {
            self.isAstray = true
            return nil
        }
        let isArrival = exchange(&self.isAstray, with: false) || kind == .arrival
        return self.entering(change, seq, as: new, isArrival ? .arrival : kind)
    }

    /// Notes where the machine is, and from when on the stay counts.
    private mutating func entering(
        _ change: SharedChange,
        _ seq: UInt64,
        as new: Value,
        _ kind: Change.Kind
    ) -> Change {
        let entered = self.form.change(
            change,
            seq,
            from: self.place?.value ?? self.form.schema.initial,
            to: new,
            renewals: self.renewals(change, kind),
            kind
        )
        switch kind {
        case .made: self.starts.adopt(change.times.start, from: seq)
        case .arrival: self.starts.arrive(change.times.start, at: seq)
        // Behind what is there, and before what comes next.
        case .renewal: self.starts.adopt(change.times.start, from: seq + 1)
        }
        self.place = entered.place
        return entered
    }

    /// How often the deadlines of a change's stay have begun anew here: what was foreseen by others than they are now no longer holds.
    private func renewals(_ change: SharedChange, _ kind: Change.Kind) -> UInt32 {
        guard let place, place.stay == change.stay else { return 0 }
        let start = self.starts.newest(of: change.stay)
        let isSame = kind != .arrival && start?.moment == change.times.start.moment
        return isSame ? place.renewals : place.renewals &+ 1
    }
}
#endif

#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What this host wants to commit, as the engine is to have it, and where the machine is then.
struct OwnGroup {
    /// Each with what the others are told of it.
    private(set) var changes: [(change: Change, shared: SharedChange)] = []
    /// The last change, of whose stay's times more is known than the change says; nil: it is not.
    private(set) var renewed: SharedChange?
    /// Holds and guards by number; nil: it ends.
    private(set) var voters: [UInt64: [UInt8]?] = [:]
    /// Those of them that outlive the session.
    private(set) var lasting: Set<UInt64> = []
    /// Where the machine is once it is committed; nil: where it was.
    private(set) var place: Place?

    private let form: SharedForm
    private let starts: StayStarts
    /// From when on a stay counts whose deadlines begin anew in it.
    private var start: StayStart?
    private var isRenewing = false

    /// - Parameters:
    ///   - records: what is to be recorded.
    ///   - form: how changes are written.
    ///   - starts: from when on stays count, which learns of those that begin here.
    ///   - place: where the machine is.
    ///   - last: what led there.
    init(
        _ records: [Record],
        in form: SharedForm,
        by starts: StayStarts,
        at place: Place?,
        after last: SharedChange?
    ) {
        (self.form, self.starts) = (form, starts)
        var (place, last) = (place, last)
        for record in records {
            switch record {
            case .change(let change):
                let shared = self.shared(change)
                self.changes.append((change, shared))
                (place, last) = (change.place, shared)
                (self.place, self.renewed) = (change.place, nil)
            case .stay(let start): (self.start, self.isRenewing) = (start, true)
            case .times(let value):
                guard let before = place, let known = last else { break }
                let isNew = exchange(&self.isRenewing, with: false)
                let renewed = known.renewed(form.times(of: value, since: self.start(at: before)))
                let new = isNew ? before.renewed(as: value) : before.replacing(value)
                (place, last) = (new, renewed)
                (self.place, self.renewed) = (new, renewed)
            case .voter(let voter):
                self.voters.updateValue(SharedVoter(voter).bytes, forKey: voter.number)
                if voter.until != nil { self.lasting.insert(voter.number) }
            case .voterEnded(let number): self.voters.updateValue(nil, forKey: number)
            // What is so at this host alone, and nothing that the others have to know.
            case .links, .declared: break
            }
        }
    }

    private func shared(_ change: Change) -> SharedChange {
        guard self.form.schema.hasStays else { return self.form.shared(change, nil) }
        let start = self.start(at: change.place)
        return self.form.shared(change, self.form.times(of: change.new, since: start))
    }

    /// From when on the stay counts that is at that place.
    private func start(at place: Place) -> StayStart {
        if let start, start.stay == place.stay { return start }
        return self.form.schema.start(at: place, by: self.starts)
    }
}
#endif

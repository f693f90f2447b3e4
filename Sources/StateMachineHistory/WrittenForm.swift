import StateMachineCore
import StateMachineProtocol

/// A recorded state, and what time does to it.
private struct SeenState {
    let state: WrittenState
    let deadline: EncodedDeadline?
}

/// How a machine's transitions are recorded.
struct WrittenForm<State: MachineState & Hashable> {
    /// A group as recorded.
    struct Group {
        let rows: [HistoryDatabase.NewRow]
        /// The owners of the rows' texts; the last is the state that the group leads to.
        let states: [WrittenState]
        /// The start of the last stay that the group begins; nil if it begins none, or that need
        /// not be recorded.
        let stay: StayStart?
    }

    /// The newest transition in the database; the next row leaves its state.
    var newest: (seq: UInt64, state: WrittenState)
    /// Whether the recorded stay is from before this boot, so that the next one is recorded in any
    /// case.
    var isStayDue: Bool
    private let coding: StateCoding<State>
    private let starts: StayStarts?
    /// States that have been written, so that none is encoded again.
    private var seen = RememberedStates<State, SeenState>()

    init(
        _ coding: StateCoding<State>,
        _ starts: StayStarts?,
        after newest: RecordedTransition,
        isStayDue: Bool
    ) {
        self.isStayDue = isStayDue
        self.coding = coding
        self.starts = starts
        self.newest = (newest.seq, WrittenState(newest.new))
    }

    /// The group, which has to follow the newest transition.
    mutating func written(_ group: [Transition<State>]) -> Group {
        var seq = self.newest.seq
        var text = self.newest.state.text
        var states = [self.newest.state]
        states.reserveCapacity(group.count + 1)
        var rows: [HistoryDatabase.NewRow] = []
        rows.reserveCapacity(group.count)
        var writer = LineWriter()
        // Where the last stay that the group begins started, and whether it has a deadline.
        var begun: (transition: Change, isTimed: Bool)?
        // Successive changes of one setter take one lookup.
        var last: (setter: CompactPeer?, by: Peer?) = (nil, nil)
        // By index: an iterator copies each.
        for index in group.indices {
            let transition = group[index].change
            var old = text
            // What the last row entered is what this one leaves.
            if seq + 1 != transition.seq {
                let left = self.seen(group[index].old).state
                states.append(left)
                old = left.text
            }
            let entered = self.seen(group[index].new)
            states.append(entered.state)
            (seq, text) = (transition.seq, entered.state.text)
            let due = self.start(of: transition, if: entered.deadline != nil).flatMap {
                entered.deadline?.due(since: $0)
            }
            if transition.setter != last.setter {
                last = (transition.setter, transition.setter?.peer)
            }
            if transition.stay == seq { begun = (transition, due != nil) }
            rows.append(
                HistoryDatabase.NewRow(
                    seq: seq,
                    old: old,
                    new: text,
                    at: transition.at,
                    cause: group[index].cause,
                    by: last.by,
                    stay: transition.stay == seq ? nil : transition.stay,
                    due: due?.text(by: &writer)
                )
            )
        }
        // Nothing is recorded for a stay without a deadline: it began when its change says, which
        // is what opening assumes if nothing is recorded.
        let start = begun.flatMap {
            self.start(of: $0.transition, if: $0.isTimed || self.isStayDue)
        }
        return Group(rows: rows, states: states, stay: start)
    }

    /// The start of the stay that a transition begins or continues, if that matters.
    private func start(of transition: Change, if matters: Bool) -> StayStart? {
        guard matters, let starts else { return nil }
        return starts.start(of: transition.stay, at: transition.seq, transition.at)
    }

    private mutating func seen(_ state: State) -> SeenState {
        let coding = self.coding
        return self.seen.form(of: state) { state in
            let written = WrittenState(coding.recorded(state))
            return (
                SeenState(state: written, deadline: coding.deadline(of: state)),
                written.text.data.count
            )
        }
    }
}

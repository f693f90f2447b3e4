import StateMachineCore
import StateMachineProtocol

/// A state as it is written down, and what time does to it.
private struct SeenState {
    let state: WrittenState
    let deadline: EncodedDeadline?
}

/// How a machine's transitions are written down.
struct WrittenForm<State: MachineState & Hashable> {
    /// A group as it is written down.
    struct Group {
        let rows: [HistoryDatabase.NewRow]
        /// What the rows' texts lie in; the last is the state that the group leads to.
        let states: [WrittenState]
        /// Since when the last stay counts that the group begins; nil if it begins none, or that need not be
        /// noted.
        let stay: StayStart?
    }

    /// The newest transition that is in the database; its state begins the next one's row.
    var newest: (seq: UInt64, state: WrittenState)
    /// Whether what is noted of stays is of the last start of the machine, so that the next one is noted in any
    /// case.
    var isStayDue: Bool
    private let coding: StateCoding<State>
    private let starts: StayStarts?
    /// States that have been written, so that one that comes again is not encoded again.
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

    /// The group, which follows the newest transition.
    mutating func written(_ group: [Transition<State>]) -> Group {
        var seq = self.newest.seq
        var text = self.newest.state.text
        var states = [self.newest.state]
        states.reserveCapacity(group.count + 1)
        var rows: [HistoryDatabase.NewRow] = []
        rows.reserveCapacity(group.count)
        var writer = LineWriter()
        // Where the last stay began that the group begins, and whether time ends it.
        var begun: (transition: TransitionMark, isTimed: Bool)?
        // One setter's many changes are one look-up.
        var last: (setter: CompactPeer?, by: Peer?) = (nil, nil)
        // By index: an iterator copies each.
        for index in group.indices {
            let transition = group[index].mark
            var old = text
            // What was written of the last one is what this one leaves.
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
            if group[index].setter != last.setter {
                last = (group[index].setter, group[index].by)
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
        // Of a stay that time does not end nothing is noted: it began when its change says, which is what an
        // opening takes where nothing is noted.
        let start = begun.flatMap {
            self.start(of: $0.transition, if: $0.isTimed || self.isStayDue)
        }
        return Group(rows: rows, states: states, stay: start)
    }

    /// Since when the stay counts that a transition leads to or goes on with, if that matters.
    private func start(of transition: TransitionMark, if matters: Bool) -> StayStart? {
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

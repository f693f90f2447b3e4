import StateMachineCore
import StateMachineProtocol

/// How a machine's transitions are written down.
struct WrittenForm<State: MachineState> {
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
    private var seen = RememberedStates<State, WrittenState>()
    /// The same of states that time leads to.
    private var dues = RememberedStates<State, [UInt8]>()

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
        for transition in group {
            var old = text
            // What was written of the last one is what this one leaves.
            if seq + 1 != transition.seq {
                let left = self.written(transition.old)
                states.append(left)
                old = left.text
            }
            let entered = self.written(transition.new)
            states.append(entered)
            (seq, text) = (transition.seq, entered.text)
            rows.append(
                HistoryDatabase.NewRow(
                    seq: seq,
                    old: old,
                    new: text,
                    at: transition.at,
                    cause: transition.cause,
                    by: transition.by,
                    stay: transition.stay == seq ? nil : transition.stay,
                    due: self.due(after: transition)
                )
            )
        }
        return Group(rows: rows, states: states, stay: self.start(in: group))
    }

    /// What time does to the state that was entered, as lines show it; nil if nothing.
    private mutating func due(after transition: Transition<State>) -> String? {
        guard let starts, let deadline = self.coding.behaviour?.deadline(of: transition.new) else {
            return nil
        }
        let start = starts.start(of: transition.stay, at: transition.seq, transition.at)
        let coding = self.coding
        let fragment = self.dues.form(of: deadline.move.next) { state in
            let fragment = coding.fragment(of: state)
            return (fragment, fragment.count)
        }
        return ServerLine.Due(fragment: fragment, at: start.wall(after: deadline.delay)).text
    }

    /// Since when the last stay counts that begins in the group, if that is to be noted.
    ///
    /// Of a stay that time does not end it is not: it began when its change says, which is what an opening
    /// takes where nothing is noted.
    private func start(in group: [Transition<State>]) -> StayStart? {
        guard let starts, let first = group.last(where: { $0.stay == $0.seq }),
            self.isStayDue || self.coding.behaviour?.deadline(of: first.new) != nil
        else { return nil }
        return starts.start(of: first.stay, at: first.seq, first.at)
    }

    private mutating func written(_ state: State) -> WrittenState {
        let coding = self.coding
        return self.seen.form(of: state) { state in
            let written = WrittenState(coding.recorded(state))
            return (written, written.text.data.count)
        }
    }
}

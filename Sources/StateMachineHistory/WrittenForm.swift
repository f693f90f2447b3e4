import StateMachineCore
import StateMachineProtocol

/// How a machine's transitions are recorded.
struct WrittenForm {
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
    private let schema: any Schema
    private let starts: StayStarts?

    init(
        _ schema: any Schema,
        _ starts: StayStarts?,
        after newest: RecordedTransition,
        isStayDue: Bool
    ) {
        self.isStayDue = isStayDue
        self.schema = schema
        self.starts = starts
        self.newest = (newest.seq, WrittenState(newest.new))
    }

    /// The group, which has to follow the newest transition.
    func written(_ group: [Change]) -> Group {
        var seq = self.newest.seq
        var text = self.newest.state.text
        var states = [self.newest.state]
        states.reserveCapacity(group.count + 1)
        var rows: [HistoryDatabase.NewRow] = []
        rows.reserveCapacity(group.count)
        var writer = LineWriter()
        // Where the last stay that the group begins started, and whether it has a deadline.
        var begun: (change: Change, isTimed: Bool)?
        // By index: an iterator copies each.
        for index in group.indices {
            let change = group[index]
            var old = text
            // What the last row entered is what this one leaves.
            if seq + 1 != change.seq {
                let left = WrittenState(self.schema.recorded(change.old))
                states.append(left)
                old = left.text
            }
            let entered = WrittenState(self.schema.recorded(change.new))
            states.append(entered)
            (seq, text) = (change.seq, entered.text)
            let deadline = self.schema.encoded(change.new).deadline
            let due = self.start(of: change, if: deadline != nil).flatMap {
                deadline?.due(since: $0)
            }
            if change.stay == seq { begun = (change, due != nil) }
            rows.append(
                HistoryDatabase.NewRow(
                    seq: seq,
                    old: old,
                    new: text,
                    at: change.at,
                    cause: change.cause,
                    by: change.setter,
                    stay: change.stay == seq ? nil : change.stay,
                    due: due?.text(by: &writer)
                )
            )
        }
        // Nothing is recorded for a stay without a deadline: it began when its change says, which
        // is what opening assumes if nothing is recorded.
        let start = begun.flatMap {
            self.start(of: $0.change, if: $0.isTimed || self.isStayDue)
        }
        return Group(rows: rows, states: states, stay: start)
    }

    /// The start of the stay that a transition begins or continues, if that matters.
    private func start(of change: Change, if matters: Bool) -> StayStart? {
        guard matters, let starts else { return nil }
        return starts.start(of: change.stay, at: change.seq, change.at)
    }
}

/// A recorded state, with its text where SQLite can read it: states recur, and copying the text for
/// each row would cost as much as the row.
final class WrittenState {
    /// Where its text is, while the object lives; a value, so that it counts no reference.
    struct Text {
        let name: UnsafeBufferPointer<CChar>
        let data: UnsafeBufferPointer<CChar>
    }

    let text: Text

    init(_ recorded: RecordedTransition.State) {
        self.text = Text(
            name: .allocate(copying: recorded.name),
            data: .allocate(copying: recorded.data)
        )
    }

    deinit {
        self.text.name.deallocate()
        self.text.data.deallocate()
    }
}

extension Schema {
    /// A state as recorded: the bytes that are sent.
    func recorded(_ value: Value) -> RecordedTransition.State {
        RecordedTransition.State(name: value.name, data: self.encoded(value).dataText)
    }
}

extension WallTime {
    /// As a part of a file's name: `20261121T120000.000000Z`.
    var fileName: String { self.rfc3339.filter { $0 != "-" && $0 != ":" } }
}

#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What was read of the log in the engine, as transitions.
struct LogPage {
    /// By their seq.
    let transitions: [RecordedTransition]

    /// - Parameters:
    ///   - blocks: in their order, possibly with gaps.
    ///   - form: how changes are written.
    init(_ blocks: [Block], in form: SharedForm) {
        var transitions: [RecordedTransition] = []
        for block in blocks {
            for (seq, change) in zip(block.first..., block.changes) {
                let last = transitions.last.flatMap { $0.seq + 1 == seq ? $0.new : nil }
                transitions.append(form.recorded(change, seq, leaving: last))
            }
        }
        self.transitions = transitions
    }

    /// What a query finds in it.
    func finding(_ query: TransitionQuery) -> TransitionFinding {
        let wanted = self.transitions.filter { $0.seq > query.after && $0.seq < query.before }
        guard let first = query.isNewestFirst ? wanted.last : wanted.first else {
            return TransitionFinding(nothingFor: query)
        }
        var run: [RecordedTransition] = []
        for transition in query.isNewestFirst ? wanted.reversed() : wanted {
            // What lies behind a gap is left to the next query.
            if let last = run.last {
                let next = query.isNewestFirst ? last.seq - 1 : last.seq + 1
                guard transition.seq == next else { break }
            }
            run.append(transition)
        }
        if let limit = query.outlined {
            var outline = TransitionOutline(from: first.seq)
            for transition in run.prefix(limit) {
                let isSameStay = transition.stay.map { $0 != transition.seq } ?? false
                outline.append(transition.new.name, at: transition.at, isSameStay: isSameStay)
            }
            return TransitionFinding(outline)
        }
        let examined = run.last?.seq ?? first.seq
        if query.isSelective { run = run.filter(query.selects) }
        return TransitionFinding(run, first: first.seq, examined: examined)
    }
}

extension TransitionQuery {
    /// Whether it wants a transition between its ends.
    fileprivate func selects(_ transition: RecordedTransition) -> Bool {
        guard self.origin.includes(transition.by, transition.cause) else { return false }
        guard let only else { return true }
        var state = transition.new.seen
        return only.contains { $0.contains { state.isCovered(by: $0) } }
    }
}
#endif

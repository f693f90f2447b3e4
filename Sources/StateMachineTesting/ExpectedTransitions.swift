public import StateMachineCore
public import Testing

/// What a machine does from now on, to be compared with what a test expects.
///
/// Transitions are taken one after the other, each once: a test states what comes next, and with
/// ``noMore(sourceLocation:)`` that nothing else came. Waiting ends when the test's task is
/// cancelled, as by its time limit, and when the machine is gone; what did not come is recorded as
/// an issue.
///
/// ```swift
/// let transitions = ExpectedTransitions(of: machine)
/// machine.state = .authentication(.active)
/// await transitions.next(.authentication(.active))
/// await transitions.noMore()
/// ```
public actor ExpectedTransitions<State: MachineState> {
    private weak let machine: StateMachine<State>?
    private let iterator: Transitions<State>.Iterator
    /// The seq of what was taken last.
    private var last: UInt64 = 0

    /// Observes what follows the machine's present state.
    public init(of machine: StateMachine<State>) {
        self.machine = machine
        // A test is to see everything, however much it sets before it looks.
        self.iterator = Transitions(
            of: machine,
            starting: .current,
            delivering: .each.limited(to: .max)
        )
        .makeAsyncIterator()
    }

    /// Expects the next transitions to lead to these states, in order, with nothing between.
    ///
    /// - Returns: the transitions; only those that came, if some did not.
    @discardableResult
    public func next(
        _ states: State...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> [Transition<State>] {
        var taken: [Transition<State>] = []
        for state in states {
            guard let transition = await self.take() else {
                Issue.record(
                    "\(state) was not entered, nor anything else",
                    sourceLocation: sourceLocation
                )
                return taken
            }
            taken.append(transition)
            guard transition.new == state else {
                Issue.record(
                    "\(transition.new) was entered where \(state) was expected",
                    sourceLocation: sourceLocation
                )
                return taken
            }
        }
        return taken
    }

    /// Expects that state to be entered, whatever comes before it.
    ///
    /// - Returns: the transition; nil if it did not come.
    @discardableResult
    public func eventually(
        _ state: State,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Transition<State>? {
        while let transition = await self.take() {
            if transition.new == state { return transition }
        }
        Issue.record("\(state) was not entered", sourceLocation: sourceLocation)
        return nil
    }

    /// Expects that nothing else was entered.
    public func noMore(sourceLocation: SourceLocation = #_sourceLocation) async {
        guard let newest = self.machine?.snapshot.seq else { return }
        var states: [State] = []
        while self.last < newest, let heard = await self.hear() {
            if case .change(let transition) = heard { states.append(transition.new) }
        }
        guard !states.isEmpty else { return }
        let names = states.map { "\($0)" }.joined(separator: ", ")
        Issue.record("entered and not expected: \(names)", sourceLocation: sourceLocation)
    }

    private func take() async -> Transition<State>? {
        while let heard = await self.hear() {
            switch heard {
            case .change(let transition): return transition
            case .current: break
            case .missed(let count, let now):
                Issue.record("the machine has let go of \(count) transitions, up to \(now.state)")
            }
        }
        return nil
    }

    private func hear() async -> StateMachine<State>.Heard? {
        // A copy will do: it iterates over the same thing.
        var iterator = self.iterator
        let heard = await iterator.next()
        switch heard {
        case .change(let transition): self.last = transition.seq
        case .current(let now), .missed(_, let now): self.last = now.seq
        case nil: break
        }
        return heard
    }
}

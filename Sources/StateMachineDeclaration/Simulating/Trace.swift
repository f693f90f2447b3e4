import StateMachineProtocol

/// What happens to a machine, and where each step is expected to lead.
package struct Trace: Sendable {
    package let steps: [TraceStep]

    /// Reads a trace.
    package init(_ text: String) throws(TraceFailure) {
        self.steps = try TraceReader.steps(of: text)
    }

    /// Runs a simulated machine through it.
    ///
    /// - Throws: The first line that cannot be carried out, or leads elsewhere.
    /// - Returns: The machine after the last step.
    @discardableResult
    package func run(on declaration: Declaration) throws(TraceFailure) -> Simulation {
        var simulation = Simulation(declaration)
        for step in self.steps {
            let isToBeRefused = self.expectsRefusal(step, declaration)
            var isRefused = false
            do {
                try self.perform(step, declaration, &simulation)
            } catch .refused(_) where isToBeRefused {
                isRefused = true
            } catch .refused(.illegalTransition(let name, let from, let allowed)) {
                // Nothing has changed, which is right if the trace says which state it expects.
                guard step.expected != nil else {
                    let refusal = DeclaredRefusal.illegalTransition(
                        name,
                        from: from,
                        allowed: allowed
                    )
                    throw TraceFailure(line: step.line, sentence: refusal.sentence)
                }
            } catch {
                throw TraceFailure(
                    line: step.line,
                    sentence: "\(error.sentence); found \(simulation.state.written)"
                )
            }
            guard isToBeRefused else {
                try self.compare(step, simulation.state)
                continue
            }
            guard isRefused else {
                throw TraceFailure(
                    line: step.line,
                    sentence: "expected a refusal, found \(simulation.state.written)"
                )
            }
        }
        return simulation
    }

    /// Whether the step expects a refusal, for any reason; a state of that name takes precedence.
    private func expectsRefusal(_ step: TraceStep, _ declaration: Declaration) -> Bool {
        guard let expected = step.expected, expected.fields.isEmpty else { return false }
        return expected.state == TraceStep.refusal
            && declaration.stateNumber(TraceStep.refusal) == nil
    }

    private func perform(
        _ step: TraceStep,
        _ declaration: Declaration,
        _ simulation: inout Simulation
    ) throws(SimulationError) {
        switch step.action {
        case .look: break
        case .reboot: try simulation.reboot()
        case .wait(let time): try simulation.pass(time)
        case .run(let end, let times): try simulation.endRun(end, times: times)
        case .send(let event, let words):
            let data = try Self.data { () throws(DeclaredRefusal) -> [JSONMember] in
                try declaration.data(ofWords: words.pairs, forEvent: event)
            }
            try simulation.send(event, data: data)
        case .set(let state, let words):
            let data = try Self.data { () throws(DeclaredRefusal) -> [JSONMember] in
                try declaration.data(ofWords: words.pairs, forState: state)
            }
            try simulation.set(state, data: data)
        case .update(let words):
            let name = simulation.state.declared.name
            let data = try Self.data { () throws(DeclaredRefusal) -> [JSONMember] in
                try declaration.data(
                    ofWords: words.filter { !$0.isAmount }.pairs,
                    forState: name
                )
            }
            let amounts = try Self.data { () throws(DeclaredRefusal) -> [JSONMember] in
                try words.filter(\.isAmount).map { (word) throws(DeclaredRefusal) in
                    try word.amount
                }
            }
            try simulation.update(data, adding: amounts)
        }
    }

    private static func data(
        _ read: () throws(DeclaredRefusal) -> [JSONMember]
    ) throws(SimulationError) -> [JSONMember] {
        do {
            return try read()
        } catch {
            throw .refused(error)
        }
    }

    private func compare(_ step: TraceStep, _ found: DeclaredState) throws(TraceFailure) {
        guard let expected = step.expected else { return }
        let members: [JSONMember]
        do {
            members = try found.declaration.data(
                ofWords: expected.fields.pairs,
                forState: expected.state
            )
        } catch {
            throw TraceFailure(line: step.line, sentence: error.sentence)
        }
        guard found.declared.name == expected.state,
            members.allSatisfy({ found[$0.key] == $0.value })
        else {
            throw TraceFailure(
                line: step.line,
                sentence: "expected \(expected.written), found \(found.written)"
            )
        }
    }
}

extension [TraceWord] {
    fileprivate var pairs: [(key: String, value: String)] { self.map { ($0.key, $0.value) } }
}

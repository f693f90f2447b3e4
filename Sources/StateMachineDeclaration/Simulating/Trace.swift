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
            } catch _ as WireError where isToBeRefused {
                isRefused = true
            } catch let refusal as WireError where refusal.code == .illegalTransition {
                // Nothing has changed, which is right if the trace says which state it expects.
                guard step.expected != nil else {
                    throw TraceFailure(line: step.line, sentence: refusal.message)
                }
            } catch {
                let sentence = (error as? WireError)?.message ?? "\(error)"
                throw TraceFailure(
                    line: step.line,
                    sentence: "\(sentence); found \(simulation.state.written)"
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
    ) throws {
        switch step.action {
        case .look: break
        case .reboot: try simulation.reboot()
        case .wait(let time): try simulation.pass(time)
        case .run(let end, let times): try simulation.endRun(end, times: times)
        case .send(let event, let words):
            try simulation.send(
                event,
                data: declaration.data(ofWords: words.pairs, forEvent: event)
            )
        case .set(let state, let words):
            try simulation.set(state, data: declaration.data(ofWords: words.pairs, forState: state))
        case .update(let words):
            let name = simulation.state.declared.name
            let plain = words.filter { !$0.isAmount }.pairs
            try simulation.update(
                declaration.data(ofWords: plain, forState: name),
                adding: words.filter(\.isAmount).map { try $0.amount }
            )
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
            throw TraceFailure(line: step.line, sentence: error.message)
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

import StateMachineCore
package import StateMachineProtocol

// Which of several cases is taken. Fields are the event's and the present state's, as they are before the move.
extension DeclaredState {
    /// What the first case does that holds.
    ///
    /// - Parameters:
    ///   - cases: of which the last always holds.
    ///   - event: the values of the event's fields; empty where nothing was sent.
    /// - Returns: what is to happen.
    /// - Throws: `refused`, as a case says, or `bad-data`: the values of the last one do not fit.
    func made(by cases: [Branch], _ event: [JSONValue?] = []) throws(WireError) -> Move.Made {
        for (index, branch) in cases.enumerated()
        where branch.conditions.allSatisfy({ self.meets($0, event) }) {
            guard index < cases.count - 1, branch.outcome.target?.isDoubtful == true else {
                return try self.made(by: branch.outcome, event)
            }
            // One whose values do not fit is passed over.
            if let made = try? self.made(by: branch.outcome, event) { return made }
        }
        return .nothing(.unhandled)
    }

    /// Why each of the cases before the one that is taken is passed over.
    func objections(before cases: [Branch], _ event: [JSONValue?] = []) -> [String] {
        cases.dropLast().lazy.map { self.objection(to: $0, event) }.prefix { $0 != nil }
            .compactMap(\.self)
    }

    /// Why a case is passed over; nil if it is taken.
    package func objection(to branch: Branch, _ event: [JSONValue?] = []) -> String? {
        if let condition = branch.conditions.first(where: { !self.meets($0, event) }) {
            return "\(condition.written) does not hold"
        }
        guard let target = branch.outcome.target, target.isDoubtful else { return nil }
        do {
            _ = try self.state(at: target, event)
            return nil
        } catch {
            return error.message
        }
    }

    private func made(
        by outcome: Branch.Outcome,
        _ event: [JSONValue?]
    ) throws(WireError) -> Move.Made {
        switch outcome {
        case .enter(let target), .again(let target):
            return .enter(TypedValue(try self.state(at: target, event)))
        case .keep(let target): return .keep(TypedValue(try self.state(at: target, event)))
        case .stay: return .renew
        case .ignore: return .nothing(.same)
        case .rerun: return .nothing(.unhandled)
        case .refuse(let why): throw WireError(.refused, why)
        }
    }

    /// The state that a target leads to.
    ///
    /// - Throws: `bad-data`: its values do not fit. Of what is not doubtful that was found out when the file was read.
    private func state(
        at target: DeclaredTarget,
        _ event: [JSONValue?]
    ) throws(WireError) -> DeclaredState {
        let fields = self.declaration.states[target.state].fields
        let values = try zip(fields, target.sources).map { (field, sources) throws(WireError) in
            for source in sources {
                if let value = try self.value(of: source, for: field, event) {
                    return value as JSONValue?
                }
            }
            return nil
        }
        if target.isDoubtful {
            for (field, value) in zip(fields, values) {
                if let misfit = value.flatMap({ field.misfit(ofKept: $0) }) { throw misfit.refusal }
            }
        }
        return DeclaredState(self.declaration, target.state, values)
    }

    private func value(
        of source: DeclaredTarget.Source,
        for field: Field,
        _ event: [JSONValue?]
    ) throws(WireError) -> JSONValue? {
        guard case .step(let index, let amount, let isDown) = source else {
            return self.value(of: source, event)
        }
        guard let amount = self.value(of: amount, event) else {
            throw WireError(.badData, "\(field.name) cannot be counted: the amount is absent")
        }
        return try field.sum(of: self.values[index], and: amount, isDown: isDown)
    }

    /// The value that is there as it is; nil if none is.
    private func value(of source: DeclaredTarget.Source, _ event: [JSONValue?]) -> JSONValue? {
        switch source {
        case .literal(let value), .fallback(let value): value
        case .event(let index): event[index]
        case .left(let index): self.values[index]
        case .step: nil
        }
    }

    private func meets(_ condition: DeclaredCondition, _ event: [JSONValue?]) -> Bool {
        let value = self.value(of: condition.subject, event)
        switch condition.test {
        case .isThere: return value != nil && value != .bool(false)
        case .isNotThere: return value == nil || value == .bool(false)
        case .compares(let comparator, let operand, let asInstants):
            guard let value, let operand = self.value(of: operand, event) else { return false }
            return comparator.holds(value, operand, asInstants: asInstants)
        }
    }
}

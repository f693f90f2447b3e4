import StateMachineCore
package import StateMachineProtocol

/// What cases are judged by besides the state: what was sent, what is left of the state's own next time, and what is seen
/// of other machines.
package struct Given: Sendable {
    /// The values of the event's fields; empty where nothing was sent.
    let event: [JSONValue?]
    let remaining: Duration?
    /// What is seen of other machines.
    let sight: Sight

    package init(
        event: [JSONValue?] = [],
        remaining: Duration? = nil,
        sight: Sight = .nothing
    ) {
        self.event = event
        self.remaining = remaining
        self.sight = sight
    }
}

// Which of several cases is taken. Fields are the event's and the present state's, as they are before the move.
extension DeclaredState {
    /// What the first case does that holds.
    ///
    /// - Parameters:
    ///   - cases: of which the last always holds.
    ///   - given: what they are judged by besides the state.
    /// - Returns: what is to happen.
    /// - Throws: `refused`, as a case says, or `bad-data`: the values of the last one do not fit.
    func made(by cases: [Branch], _ given: Given = Given()) throws(WireError) -> Move.Made {
        for (index, branch) in cases.enumerated()
        where branch.conditions.allSatisfy({ given.meets($0, left: self.values) }) {
            guard index < cases.count - 1, branch.outcome.target?.isDoubtful == true else {
                return try self.made(by: branch.outcome, given)
            }
            // One whose values do not fit is passed over.
            if let made = try? self.made(by: branch.outcome, given) { return made }
        }
        return .nothing(.unhandled)
    }

    /// Why each of the cases before the one that is taken is passed over.
    func objections(before cases: [Branch], _ given: Given = Given()) -> [String] {
        cases.dropLast().lazy.map { self.objection(to: $0, given) }.prefix { $0 != nil }
            .compactMap(\.self)
    }

    /// Why a case is passed over; nil if it is taken.
    package func objection(to branch: Branch, _ given: Given = Given()) -> String? {
        if let condition = branch.conditions.first(where: {
            !given.meets($0, left: self.values)
        }) {
            guard case .isSeen(let asked) = condition.test else {
                return "\(condition.written) does not hold"
            }
            return "\(condition.written) does not hold, \(given.sight.objection(to: asked) ?? "")"
        }
        guard let target = branch.outcome.target, target.isDoubtful else { return nil }
        do {
            _ = try self.state(at: target, given)
            return nil
        } catch {
            return error.message
        }
    }

    /// What cases may do with an event of whose fields nothing is known; what depends on none of them is decided.
    ///
    /// `given` is all else.
    func outlook(of cases: [Branch], _ given: Given) -> Outlook {
        var (ways, unmet) = ([Outlook.Way](), [String]())
        for (index, branch) in cases.enumerated() {
            let known = branch.conditions.filter { !$0.isOfEvent }
            if let condition = known.first(where: { !given.meets($0, left: self.values) }) {
                unmet.append("\(condition.written) does not hold")
                continue
            }
            var isTaken = known.count == branch.conditions.count
            if let target = branch.outcome.target, target.isOfEvent {
                isTaken = isTaken && !target.isDoubtful
                let state = self.declaration.states[target.state].name
                let isKeep = if case .keep = branch.outcome { true } else { false }
                ways.append(.leads(to: state, keep: isKeep))
            } else {
                do throws(WireError) {
                    ways.append(.made(try self.made(by: branch.outcome, given)))
                } catch {
                    let isLast = index == cases.count - 1
                    guard isLast || branch.outcome.target == nil else {
                        unmet.append(error.message)
                        continue
                    }
                    ways.append(.refused(error))
                }
            }
            if isTaken { break }
        }
        return Outlook(ways, unmet: unmet)
    }

    private func made(
        by outcome: Branch.Outcome,
        _ given: Given
    ) throws(WireError) -> Move.Made {
        switch outcome {
        case .enter(let target), .again(let target):
            return .enter(TypedValue(try self.state(at: target, given)))
        case .keep(let target): return .keep(TypedValue(try self.state(at: target, given)))
        case .stay: return .renew(TypedValue(self), groups: [])
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
        _ given: Given
    ) throws(WireError) -> DeclaredState {
        let fields = self.declaration.states[target.state].fields
        let values = try zip(fields, target.sources).map { (field, sources) throws(WireError) in
            for source in sources {
                if let value = try self.value(of: source, for: field, given) {
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
        return try DeclaredState(self.declaration, target.state, values).checkedLength()
    }

    private func value(
        of source: DeclaredTarget.Source,
        for field: Field,
        _ given: Given
    ) throws(WireError) -> JSONValue? {
        guard case .step(let index, let amount, let isDown) = source else {
            let value = given.value(of: source, left: self.values)
            if value == nil, source == .remaining {
                throw WireError(
                    .badData,
                    "\(field.name)={remaining}: no time of \(self.declared.name) is due"
                )
            }
            return value
        }
        guard let amount = given.value(of: amount, left: self.values) else {
            throw WireError(.badData, "\(field.name) cannot be counted: the amount is absent")
        }
        return try field.sum(of: self.values[index], and: amount, isDown: isDown)
    }
}

extension Given {
    /// The value that is there as it is, where the state that is left has those values; nil if none is.
    fileprivate func value(
        of source: DeclaredTarget.Source,
        left: [JSONValue?]
    ) -> JSONValue? {
        switch source {
        case .literal(let value), .fallback(let value): value
        case .event(let index): self.event[index]
        case .left(let index): left[index]
        case .remaining:
            // A time has at least 10 ms.
            self.remaining.map {
                .integer(max(TimeText.range.lowerBound, $0.wholeMilliseconds))
            }
        case .step: nil
        }
    }

    /// Whether a condition holds, where the state that is left has those values.
    func meets(_ condition: DeclaredCondition, left: [JSONValue?]) -> Bool {
        switch condition.test {
        case .isThere(let subject):
            let value = self.value(of: subject, left: left)
            return value != nil && value != .bool(false)
        case .isNotThere(let subject):
            let value = self.value(of: subject, left: left)
            return value == nil || value == .bool(false)
        case .compares(let subject, let comparator, let operand, let asInstants):
            guard let value = self.value(of: subject, left: left),
                let operand = self.value(of: operand, left: left)
            else { return false }
            return comparator.holds(value, operand, asInstants: asInstants)
        case .isSeen(let condition): return self.sight.holds(condition)
        }
    }
}

extension DeclaredTarget {
    /// Whether what it leads to depends on an event's fields.
    fileprivate var isOfEvent: Bool { self.sources.joined().contains(where: \.isOfEvent) }
}

extension DeclaredCondition {
    /// Whether it depends on an event's fields.
    fileprivate var isOfEvent: Bool {
        switch self.test {
        case .compares(let subject, _, let operand, _): subject.isOfEvent || operand.isOfEvent
        case .isThere(let subject), .isNotThere(let subject): subject.isOfEvent
        case .isSeen: false
        }
    }
}

extension DeclaredTarget.Source {
    fileprivate var isOfEvent: Bool {
        switch self {
        case .event: true
        case .step(_, let amount, _): amount.isOfEvent
        case .literal, .left, .remaining, .fallback: false
        }
    }
}

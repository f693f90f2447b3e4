import Testing

@testable import StateMachineCore

/// The gate as a value: an event in, an action out, nothing performed.
struct GateScriptTests {
    private typealias Pending = Machine.Proposal

    private let start = StateMachineCore.Place(seq: 7, .ready(false))

    private func pending(_ new: AppState, asking question: Question? = Question()) -> Pending {
        Pending(Move(to: TypedValue(new)), asking: question, completion: { _ in })
    }

    private func entry(_ pending: Pending, from base: StateMachineCore.Place) -> ChangeEntry {
        ChangeEntry(pending.move.change(from: base, to: TypedValue(pending.new)))
    }

    /// An action as text that can be compared.
    private func text(_ action: Gate.Action?) -> String {
        switch action {
        case nil: "rest"
        case .evaluate(let pending, _, _) where pending.isRecast: "recast"
        case .evaluate(let pending, _, let hasVoters):
            "evaluate \(pending.new), \(hasVoters ? "with" : "no") voters"
        case .evaluateAll(let run, _): "evaluate all \(run.count)"
        case .commit(let changes, _): "commit \(changes.map(\.seq))"
        case .tell(let evaluated):
            "tell "
                + evaluated.map { one in
                    switch one.fate {
                    case .entering(let entry): "entered \(entry.change.seq)"
                    case .replacing(let place): "replaced by \(place.value.text) at \(place.seq)"
                    case .answered: "answered"
                    }
                }.joined(separator: ", ")
        case .ask, .confirm, .void: "another"
        }
    }

    @Test func whatAsksNobodyIsEnteredWithoutALogTooUnlessTheMachineHasMoved() {
        var gate = Gate(hasLog: false, limit: 9)
        let update = self.pending(.ready(true), asking: nil)
        #expect(gate.proposed(update) == .entered)
        #expect(self.text(gate.pumped(at: self.start)) == "evaluate all 1")
        let moved = StateMachineCore.Place(seq: 8, .dataRetrieval(.idle))
        let stale = EvaluatedProposal(update, .entering(self.entry(update, from: self.start)))
        #expect(self.text(gate.evaluated([stale], at: moved)) == "evaluate all 1")
        let fresh = EvaluatedProposal(update, .entering(self.entry(update, from: moved)))
        #expect(self.text(gate.evaluated([fresh], at: moved)) == "tell entered 9")
        #expect(self.text(gate.next(moved)) == "rest")
    }

    @Test func whatIsNotLimitedTakesNoRoom() {
        var gate = Gate(hasLog: false, limit: 2)
        for _ in 0..<3 {
            let own = Pending(
                Move(to: TypedValue(AppState.ready(true))),
                asking: Question(),
                isLimited: false,
                completion: { _ in }
            )
            #expect(gate.proposed(own) == .entered)
        }
        #expect(gate.proposed(self.pending(.ready(true))) == .entered)
        #expect(gate.proposed(self.pending(.ready(true), asking: nil)) == .entered)
        #expect(gate.proposed(self.pending(.ready(true))) == .refused)
    }

    @Test func whatWasEvaluatedOfAMachineThatHasMovedIsEvaluatedAgain() {
        var gate = Gate(hasLog: false, limit: 9)
        let first = self.pending(.ready(true))
        _ = gate.proposed(first)
        _ = gate.pumped(at: self.start)
        let moved = StateMachineCore.Place(seq: 8, .ready(true))
        let action = gate.evaluated(
            first,
            as: .settle(.answered(.success(.unchanged(self.start, .same)))),
            from: self.start,
            at: moved
        ) { _, _ in }
        #expect(self.text(action) == "evaluate ready(true), no voters")
    }

    private let recast = Pending(
        Move(to: .recast { (value: $0.value, looksSame: true) }, as: .update),
        asking: nil,
        completion: { _ in }
    )

    @Test func aRecastWaitsForWhatTheLogHasAndNothingIsEvaluatedMeanwhile() {
        var gate = Gate(hasLog: true, limit: 9)
        let first = self.pending(.ready(true))
        _ = gate.proposed(first)
        #expect(self.text(gate.pumped(at: self.start)) == "evaluate all 1")
        let entry = self.entry(first, from: self.start)
        let evaluated = EvaluatedProposal(first, .entering(entry))
        #expect(self.text(gate.evaluated([evaluated], at: self.start)) == "commit [8]")
        #expect(self.text(gate.next(self.start)) == "rest")
        #expect(gate.proposed(self.recast) == .entered)
        _ = gate.proposed(self.pending(.ready(false)))
        #expect(self.text(gate.pumped(at: self.start)) == "rest")
        gate.committed(gate.groups.count, failure: nil)
        #expect(self.text(gate.pumped(at: self.start)) == "tell entered 8")
        let moved = StateMachineCore.Place(seq: 8, .ready(true))
        #expect(self.text(gate.next(moved)) == "recast")
        let refused = gate.evaluated(
            self.recast,
            as: .settle(.answered(.failure(Refused(.illegal, current: moved)))),
            from: moved,
            at: moved
        ) { _, _ in }
        #expect(self.text(refused) == "tell answered")
        #expect(self.text(gate.next(moved)) == "evaluate all 1")
    }
}

extension Machine.Proposal {
    fileprivate var new: AppState {
        switch self.move.target {
        case .state(let new): TypedValue<AppState>.state(of: new)
        case .made, .recast: .ready(false)
        }
    }
}

extension StateMachineCore.Place {
    fileprivate init(seq: UInt64, _ state: AppState) {
        self = Snapshot(seq: seq, state: state, at: .now).place
    }
}

import Testing

@testable import StateMachineCore

/// The gate as a value: an event in, an action out, nothing performed.
struct GateScriptTests {
    private typealias Pending = Machine.Proposal

    private let start = StateMachineCore.Place(seq: 7, .ready(false))

    private func pending(_ new: AppState, asking question: Question? = Question()) -> Pending {
        Pending(Move(to: TypedValue(new)), asking: question, completion: { _ in })
    }

    private func entry(
        _ pending: Pending,
        from base: StateMachineCore.Place
    ) -> ChangeEntry {
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
        case .confirm(let pending, _): "confirm \(pending.new)"
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
        case .ask: "ask"
        case .void: "void"
        }
    }

    @Test
    func withoutALogAProposalIsEvaluatedAndEntered() {
        var gate = Gate(hasLog: false, limit: 1)
        let first = self.pending(.ready(true))
        #expect(gate.proposed(first, isLimited: true) == .entered)
        #expect(gate.proposed(self.pending(.ready(true)), isLimited: true) == .refused)
        #expect(self.text(gate.pumped(at: self.start)) == "evaluate ready(true), no voters")
        #expect(gate.isPumpedHere)
        // Nobody else pumps meanwhile.
        #expect(self.text(gate.pumped(at: self.start)) == "rest")
        let action = gate.evaluated(
            first,
            as: .settle(.entering(self.entry(first, from: self.start))),
            from: self.start,
            at: self.start
        ) { _, _ in }
        #expect(self.text(action) == "tell entered 8")
        #expect(self.text(gate.performed(at: self.start)) == "rest")
        #expect(!gate.isPumpedHere)
    }

    @Test
    func whatAsksNobodyIsEnteredWithoutALogTooUnlessTheMachineHasMoved() {
        var gate = Gate(hasLog: false, limit: 9)
        let update = self.pending(.ready(true), asking: nil)
        #expect(gate.proposed(update, isLimited: true) == .entered)
        #expect(self.text(gate.pumped(at: self.start)) == "evaluate all 1")
        let moved = StateMachineCore.Place(seq: 8, .dataRetrieval(.idle))
        let stale = EvaluatedProposal(update, .entering(self.entry(update, from: self.start)))
        #expect(self.text(gate.evaluated([stale], at: moved)) == "evaluate all 1")
        let fresh = EvaluatedProposal(update, .entering(self.entry(update, from: moved)))
        #expect(self.text(gate.evaluated([fresh], at: moved)) == "tell entered 9")
        #expect(self.text(gate.performed(at: moved)) == "rest")
    }

    @Test
    func whatWasEvaluatedOfAMachineThatHasMovedIsEvaluatedAgain() {
        var gate = Gate(hasLog: false, limit: 9)
        let first = self.pending(.ready(true))
        _ = gate.proposed(first, isLimited: true)
        _ = gate.pumped(at: self.start)
        let moved = StateMachineCore.Place(seq: 8, .ready(true))
        let action = gate.evaluated(
            first,
            as: .settle(.answered(.success(.unchanged(self.start)))),
            from: self.start,
            at: moved
        ) { _, _ in }
        #expect(self.text(action) == "evaluate ready(true), no voters")
    }

    @Test
    func withALogWhatIsHeldIsOneGroupAndIsToldWhenTheLogHasAnswered() {
        var gate = Gate(hasLog: true, limit: 9)
        _ = gate.held()
        let all = [true, false].map { self.pending(.ready($0)) }
        for one in all { #expect(gate.proposed(one, isLimited: true) == .left) }
        #expect(self.text(gate.released(at: self.start)) == "evaluate all 2")
        let one = self.entry(all[0], from: self.start)
        let then = one.change.place
        let two = self.entry(all[1], from: then)
        let evaluated = [
            EvaluatedProposal(all[0], .entering(one)), EvaluatedProposal(all[1], .entering(two)),
        ]
        #expect(self.text(gate.evaluated(evaluated, at: self.start)) == "commit [8, 9]")
        #expect(gate.groups.underWay == 1)
        #expect(self.text(gate.performed(at: self.start)) == "rest")
        gate.committed(gate.groups.count, failure: nil)
        #expect(gate.groups.underWay == nil)
        #expect(self.text(gate.pumped(at: self.start)) == "tell entered 8, entered 9")
        #expect(self.text(gate.performed(at: then)) == "rest")
    }

    @Test
    func whatALogRefusesIsAnsweredAndWhatRestedOnItIsEvaluatedAgain() {
        var gate = Gate(hasLog: true, limit: 9)
        let first = self.pending(.ready(true))
        _ = gate.proposed(first, isLimited: true)
        _ = gate.pumped(at: self.start)
        let entry = self.entry(first, from: self.start)
        let action = gate.evaluated([EvaluatedProposal(first, .entering(entry))], at: self.start)
        #expect(self.text(action) == "commit [8]")
        // While the log is writing, one more arrives and is evaluated on the state that will be
        // refused.
        let second = self.pending(.authentication(.active))
        _ = gate.proposed(second, isLimited: true)
        #expect(self.text(gate.performed(at: self.start)) == "evaluate all 1")
        let ahead = entry.change.place
        let next = EvaluatedProposal(second, .entering(self.entry(second, from: ahead)))
        #expect(self.text(gate.evaluated([next], at: self.start)) == "rest")
        gate.committed(gate.groups.count, failure: "the disk is full")
        #expect(self.text(gate.pumped(at: self.start)) == "tell answered")
        #expect(self.text(gate.performed(at: self.start)) == "evaluate all 1")
    }

    @Test
    func aQuestionIsPutOnceAndAWithdrawnProposalEndsIt() {
        var gate = Gate(hasLog: false, limit: 9)
        let voter = VoterMember(
            .init(label: "voter"),
            isAsked: { _ in true },
            body: { _ in }
        )
        gate.voters.add(voter)
        let first = self.pending(.ready(true))
        #expect(gate.withdrawn(self.pending(.ready(true))) == .isEvaluated)
        _ = gate.proposed(first, isLimited: true)
        #expect(self.text(gate.pumped(at: self.start)) == "evaluate ready(true), with voters")
        #expect(gate.withdrawn(self.pending(.ready(true))) == .isEvaluated)
        let asked = gate.evaluated(
            first,
            as: .ask(
                [voter],
                first.move.motion(to: TypedValue(first.new), at: self.start),
                Question()
            ),
            from: self.start,
            at: self.start
        ) { _, _ in }
        #expect(self.text(asked) == "ask")
        #expect(self.text(gate.performed(at: self.start)) == "rest")
        #expect(gate.withdrawn(first) == .isAsked)
        gate.voted(.no([.withdrawn]), on: 1)
        #expect(self.text(gate.pumped(at: self.start)) == "tell answered")
        #expect(gate.ballot == nil)
    }

    @Test
    func whoAgreesIsConfirmedUnlessTheMachineHasMoved() {
        for hasMoved in [false, true] {
            var gate = Gate(hasLog: false, limit: 9)
            let voter = VoterMember(
                .init(label: "voter"),
                isAsked: { _ in true },
                body: { _ in }
            )
            gate.voters.add(voter)
            let first = self.pending(.ready(true))
            _ = gate.proposed(first, isLimited: true)
            _ = gate.pumped(at: self.start)
            _ = gate.evaluated(
                first,
                as: .ask(
                    [voter],
                    first.move.motion(to: TypedValue(first.new), at: self.start),
                    Question()
                ),
                from: self.start,
                at: self.start
            ) { _, _ in }
            guard let ballot = gate.ballot else {
                Issue.record("nobody is asked")
                return
            }
            _ = gate.performed(at: self.start)
            gate.voted(.yes, on: 1)
            let machine =
                hasMoved
                ? StateMachineCore.Place(seq: 8, .dataRetrieval(.idle)) : self.start
            #expect(self.text(gate.pumped(at: machine)) == "confirm ready(true)")
            let entry = self.entry(first, from: self.start)
            let action = gate.confirmed(ballot, with: entry, at: machine)
            #expect(self.text(action) == (hasMoved ? "tell answered" : "tell entered 8"))
        }
    }

    private let recast = Pending(
        Move(to: .recast { (value: $0.value, looksSame: true) }, as: .update),
        asking: nil,
        completion: { _ in }
    )

    @Test
    func aRecastGoesBeforeWhatWaitsAndClosesTheOpenQuestion() {
        var gate = Gate(hasLog: true, limit: 9)
        let voter = VoterMember(
            .init(label: "voter"),
            isAsked: { _ in true },
            body: { _ in }
        )
        gate.voters.add(voter)
        let first = self.pending(.ready(true))
        _ = gate.proposed(first, isLimited: true)
        _ = gate.pumped(at: self.start)
        let question = Gate.Decision.ask(
            [voter],
            first.move.motion(to: TypedValue(first.new), at: self.start),
            Question()
        )
        _ = gate.evaluated(first, as: question, from: self.start, at: self.start) { _, _ in }
        #expect(self.text(gate.performed(at: self.start)) == "rest")
        #expect(gate.proposed(self.recast, isLimited: false) == .entered)
        #expect(self.text(gate.pumped(at: self.start)) == "recast")
        let replaced = gate.evaluated(
            self.recast,
            as: .settle(.replacing(self.start.replacing(TypedValue(AppState.ready(true))))),
            from: self.start,
            at: self.start
        ) { _, _ in }
        #expect(self.text(replaced) == "tell replaced by ready(true) at 7")
        #expect(self.text(gate.performed(at: self.start)) == "void")
        // A vote on the old question counts for nothing, even when another question is open.
        gate.voted(.yes, on: 1)
        #expect(self.text(gate.performed(at: self.start)) == "evaluate ready(true), with voters")
        _ = gate.evaluated(first, as: question, from: self.start, at: self.start) { _, _ in }
        gate.voted(.yes, on: 1)
        #expect(self.text(gate.performed(at: self.start)) == "rest")
        gate.voted(.yes, on: 2)
        #expect(self.text(gate.pumped(at: self.start)) == "confirm ready(true)")
    }

    @Test
    func aRecastWaitsForWhatTheLogHasAndNothingIsEvaluatedMeanwhile() {
        var gate = Gate(hasLog: true, limit: 9)
        let first = self.pending(.ready(true))
        _ = gate.proposed(first, isLimited: true)
        #expect(self.text(gate.pumped(at: self.start)) == "evaluate all 1")
        let entry = self.entry(first, from: self.start)
        let evaluated = EvaluatedProposal(first, .entering(entry))
        #expect(self.text(gate.evaluated([evaluated], at: self.start)) == "commit [8]")
        #expect(self.text(gate.performed(at: self.start)) == "rest")
        #expect(gate.proposed(self.recast, isLimited: false) == .entered)
        _ = gate.proposed(self.pending(.ready(false)), isLimited: true)
        #expect(self.text(gate.pumped(at: self.start)) == "rest")
        gate.committed(gate.groups.count, failure: nil)
        #expect(self.text(gate.pumped(at: self.start)) == "tell entered 8")
        let moved = StateMachineCore.Place(seq: 8, .ready(true))
        #expect(self.text(gate.performed(at: moved)) == "recast")
        let refused = gate.evaluated(
            self.recast,
            as: .settle(.answered(.failure(Refused(.illegal, current: moved)))),
            from: moved,
            at: moved
        ) { _, _ in }
        #expect(self.text(refused) == "tell answered")
        #expect(self.text(gate.performed(at: moved)) == "evaluate all 1")
    }
}

extension Gate.Withdrawal {
    fileprivate enum Kind { case left, isAsked, isEvaluated }

    fileprivate static func == (withdrawal: Self, kind: Kind) -> Bool {
        switch (withdrawal, kind) {
        case (.left, .left), (.isAsked, .isAsked), (.isEvaluated, .isEvaluated): true
        case (.left, _), (.isAsked, _), (.isEvaluated, _): false
        }
    }
}

extension Machine.Proposal {
    fileprivate var new: AppState {
        switch self.move.target {
        case .state(let new): TypedValue<AppState>.state(of: new)
        case .made, .event, .recast: .ready(false)
        }
    }
}

extension StateMachineCore.Place {
    fileprivate init(seq: UInt64, _ state: AppState) {
        self = Snapshot(seq: seq, state: state, at: .now).place
    }
}

import Dispatch
import StateMachineTesting
import TestSupport
import Testing

@testable import StateMachineCore

private typealias Outcome = Result<StateMachine<AppState>.Acceptance, TransitionError<AppState>>

/// A machine with a clock that the test moves, and a voter that answers when the test says so.
private struct Bench {
    let clock = ManualClock()
    let machine: StateMachine<AppState>
    let asks = Recorder<Ask>()
    let outcomes = Recorder<Outcome>()

    init(_ change: (inout StateMachine<AppState>.Options) -> Void = { _ in }) {
        var options = StateMachine<AppState>.Options()
        options.clock = self.clock
        change(&options)
        self.machine = StateMachine(options: options)
    }

    @discardableResult
    func addVoter(
        _ label: String = "voter",
        on context: any ExecutionContext = .immediate,
        deadline: VoteDeadline? = nil,
        before isAsked: @escaping @Sendable (Proposal<AppState>) -> Bool = { _ in true }
    ) -> Registration {
        self.machine.addVoter(label: label, on: context, deadline: deadline, before: isAsked) {
            self.asks.record($0)
        }
    }

    func propose(_ new: AppState, asking question: Question = Question()) {
        self.machine.propose(new, asking: question) { self.outcomes.record($0) }
    }

    /// The error of who is denied by that one.
    func denied(by label: String, _ why: String) -> TransitionError<AppState> {
        TransitionError(
            .denied(by: [Vote.Denial(label: label, why: why)]),
            current: self.machine.snapshot
        )
    }

    var errors: [TransitionError<AppState>?] {
        self.outcomes.heard.map { outcome in
            switch outcome {
            case .success: nil
            case .failure(let error): error
            }
        }
    }
}

@Suite struct GateTests {
    private static let retrieves: @Sendable (Proposal<AppState>) -> Bool = {
        $0.proposed.name == .dataRetrieval
    }

    /// A recast that looks the same keeps the seq: what was evaluated before it is evaluated again.
    @Test func whatIsEnteredAtOnceDoesNotUndoARecastThatLooksTheSame() {
        let machine = StateMachine<AppState>().machine
        let recast = TypedValue(AppState.ready(false))
        let bases = Recorder<Bool>()
        let answer = machine.enterAtOnce(
            Move(
                to: .made { base in
                    bases.record(base.value === recast)
                    if bases.heard.count == 1 {
                        machine.propose(
                            Move(to: .recast { _ in (recast, looksSame: true) }),
                            asking: nil
                        ) { _ in }
                    }
                    return .enter(TypedValue(AppState.ready(true)))
                }
            ),
            asking: nil
        )
        #expect(bases.heard == [false, true])
        guard case .success(.committed(let change)) = answer else {
            Issue.record("nothing was entered")
            return
        }
        #expect(change.seq == 1)
        #expect(change.old === recast)
    }

    /// An own change that was foreseen may be another's in the end, and lead to a state that looks the same.
    @Test func placesOfOneNumberAreToldApart() {
        let own = StateMachineCore.Place(seq: 1, value: Light.value("dim"), at: .now, stay: 1)
        let others = StateMachineCore.Place(seq: 1, value: Light.value("dim"), at: .now, stay: 1)
        #expect(own.isSame(as: own))
        #expect(!own.isSame(as: others))
        #expect(!own.isSame(as: own.renewed(as: own.value)))
    }

    @Test func whatItsProposerWantsNoMoreIsNotMadeToHappenByALateYes() {
        let bench = Bench()
        bench.addVoter()
        let isWanted = Lock(true)
        bench.machine.propose(
            .ready(true),
            expecting: { _ in isWanted.withLock { $0 } },
            completion: { bench.outcomes.record($0) }
        )
        isWanted.withLock { $0 = false }
        bench.asks.heard.first?.vote(.yes)
        #expect(bench.errors == [TransitionError(.conflict, current: bench.machine.snapshot)])
        #expect(bench.machine.snapshot.seq == 0)
    }

    @Test func theFirstNoDeniesAndSaysWhoAndWhy() {
        let bench = Bench()
        bench.addVoter("first")
        bench.addVoter("second")
        bench.propose(.ready(true))
        #expect(bench.asks.heard.count == 2)
        bench.asks.heard.last?.vote(.no("unsaved work"))
        #expect(bench.errors == [bench.denied(by: "second", "unsaved work")])
        #expect(bench.asks.heard.first?.vote(.yes) == false)
        #expect(bench.outcomes.heard.count == 1)
        #expect(bench.machine.snapshot.seq == 0)
    }

    @Test func aVotersOwnPatienceOverridesTheQuestions() async {
        let bench = Bench()
        bench.addVoter(
            "guard",
            deadline: VoteDeadline(limit: .seconds(5), whenSilent: .no("silent"))
        )
        bench.propose(.ready(true))
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(5))
        await bench.outcomes.wait(for: 1)
        #expect(bench.errors == [bench.denied(by: "guard", "silent")])
    }

    @Test func aDelayPostponesAtMostSoLongFromTheProposalsArrival() async {
        let bench = Bench()
        bench.addVoter("first", deadline: VoteDeadline(limit: nil, whenSilent: .yes)) {
            $0.proposed == .ready(true)
        }
        bench.addVoter(
            "delay",
            deadline: VoteDeadline(limit: .seconds(3), whenSilent: .yes, from: .proposal)
        ) {
            $0.proposed == .authentication(.idle)
        }
        bench.propose(.ready(true))
        bench.propose(.authentication(.idle))
        bench.clock.advance(by: .seconds(2))
        bench.asks.heard.first?.vote(.yes)
        await bench.clock.sleepers(1)
        #expect(bench.outcomes.heard.count == 1)
        bench.clock.advance(by: .seconds(1))
        await bench.outcomes.wait(for: 2)
        #expect(bench.machine.state == .authentication(.idle))
    }

    /// It waits as long as the question says, but uses its own `whenSilent`.
    @Test func aVotersSilenceCountsAsItSaysThoughItNamesNoTime() async {
        let bench = Bench()
        let replies = Recorder<@Sendable (Vote) -> Void>()
        bench.machine.addVoter(
            label: "strict",
            on: .immediate,
            whenSilent: .no("silent")
        ) { _, reply in
            replies.record(reply)
        }
        bench.propose(.ready(true))
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(1))
        await bench.outcomes.wait(for: 1)
        #expect(bench.machine.state == .ready(false))
    }

    @Test func votersHaveHeardAllThatLedToTheState() async {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        let listener = Listener()
        machine.addDelegate(listener, on: held.context)
        let heardBefore = Recorder<[UInt64]>()
        machine.addVoter(label: "v", on: held.context, before: Self.retrieves) {
            heardBefore.record(listener.seqs)
            $0.vote(.yes)
        }
        machine.churn(300)
        let outcomes = Recorder<Outcome>()
        machine.propose(.dataRetrieval(.idle)) { outcomes.record($0) }
        held.open()
        await outcomes.wait(for: 1)
        #expect(heardBefore.heard == [Array(1...300)])
    }

    @Test func noThreadWaitsForAVoter() async {
        let bench = Bench()
        let queue = DispatchQueue(label: "the asker's and the voter's")
        bench.addVoter(on: .queue(queue))
        queue.async { bench.propose(.ready(true)) }
        await bench.asks.wait(for: 1)
        queue.async { bench.asks.heard.first?.vote(.yes) }
        await bench.outcomes.wait(for: 1)
        #expect(bench.errors == [nil])
    }

    @Test func aVoterThatWaitsForItsOwnProposalIsRefusedThatAndItsNoCounts() async {
        let machine = StateMachine<AppState>()
        let refusals = Recorder<Refusal?>()
        machine.addVoter(
            label: "door",
            before: { $0.proposed == .ready(true) },
            asking: { _ in
                do throws(TransitionError<AppState>) {
                    _ = try await machine.propose(.authentication(.active))
                    refusals.record(nil)
                } catch {
                    refusals.record(error.reason)
                }
                return .no("never")
            }
        )
        #expect(
            await returns {
                await #expect(throws: TransitionError<AppState>.self) {
                    try await machine.propose(.ready(true), asking: Question(deadline: nil))
                }
            }
        )
        #expect(refusals.heard == [.wouldWait])
        #expect(machine.state == .ready(false))
        // It may propose to another machine, and to this one once it has voted.
        await #expect(throws: Never.self) { try await machine.propose(.authentication(.active)) }
    }
}

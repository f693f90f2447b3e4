import Dispatch
import Glibc
import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

/// A log that commits at once, on a queue of its own.
private final class QueueLog: WriteAheadLog {
    private let queue = DispatchQueue(label: "log")
    private let place: DispatchQueue
    let seqs = Recorder<UInt64>()

    init() { self.place = .queue(self.queue) }

    var isCurrent: Bool { self.place.isCurrent == true }

    func perform(_ body: @escaping @Sendable () -> Void) { self.queue.async(execute: body) }

    func commit(
        _ group: [Transition<AppState>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) {
        self.queue.async {
            for transition in group { self.seqs.record(transition.seq) }
            done(nil)
        }
    }
}

private typealias Outcome = Result<StateMachine<AppState>.Acceptance, TransitionError<AppState>>

@Suite struct WriteAheadTests {
    private static let authenticates: @Sendable (Proposal<AppState>) -> Bool = {
        $0.proposed.name == .authentication
    }

    private let log = PatientLog<AppState>()
    private let outcomes = Recorder<Outcome>()
    private let machine: StateMachine<AppState>

    init() {
        var options = StateMachine<AppState>.Options()
        options.log = self.log
        // However slow the computer is, no voter times out.
        options.clock = ManualClock()
        self.machine = StateMachine(options: options)
    }

    private func propose(_ new: AppState) {
        self.machine.propose(new) { self.outcomes.record($0) }
    }

    private var committed: [UInt64?] {
        self.outcomes.heard.map { outcome in
            switch outcome {
            case .success(.committed(let transition)): transition.seq
            case .success(.unchanged), .failure: nil
            }
        }
    }

    @Test func aBurstThatIsHeldIsOneGroupAndAnAssignmentEndsTheHold() {
        self.machine.machine.beginGathering()
        for value in [true, false, true] { self.propose(.ready(value)) }
        #expect(self.log.groups.heard.isEmpty)
        self.machine.machine.endGathering()
        #expect(self.log.groups.heard.map { $0.transitions.map(\.seq) } == [[1, 2, 3]])
        self.log.finish(0)
        #expect(self.committed == [1, 2, 3])

        self.machine.machine.beginGathering()
        self.propose(.ready(false))
        #expect(self.log.groups.heard.count == 1)
        // Passes the voters by, like an assignment, but an assignment would block this thread.
        self.machine.machine.afterCommits {}
        #expect(self.log.groups.heard.map { $0.transitions.map(\.seq) }.last == [4])
    }

    @Test func aCallbackThatSetsWhileTheLogIsFullIsNotWaitedFor() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let log = PatientLog<AppState>()
                var options = StateMachine<AppState>.Options()
                options.log = log
                let machine = StateMachine<AppState>(options: options)
                machine.propose(.authentication(.active)) { _ in }
                // More than may be undelivered while somebody else delivers.
                for count in 1...600 {
                    machine.propose(.ready(count.isMultiple(of: 2))) { _ in }
                }
                let isCalled = Gate()
                let hasSet = Gate()
                DispatchQueue(label: "registers").async {
                    machine.addObserver(starting: .current) { transition in
                        guard transition.seq == 0 else { return }
                        isCalled.open()
                        machine.state = .dataRetrieval(.active)
                        hasSet.open()
                    }
                }
                isCalled.pass()
                var finished = 0
                while machine.state != .dataRetrieval(.active) {
                    if log.groups.heard.count > finished {
                        log.finish(finished)
                        finished += 1
                    } else {
                        usleep(100)
                    }
                }
                hasSet.pass()
            }
        }
    }

    @Test func aGroupIsAnsweredAtItsCursorAfterItsChangesAndWakesItOnce() {
        let jobs = Recorder<@Sendable () -> Void>()
        let context = WatchedContext(isCurrent: false) { jobs.record($0) }
        let heard = Recorder<String>()
        let following = self.machine.machine.follow(on: context) {
            heard.record("change \($0.seq)")
        }
        self.machine.machine.beginGathering()
        for count in 1...3 {
            self.machine.machine.propose(
                Move(to: TypedValue(AppState.ready(!count.isMultiple(of: 2)))),
                asking: Question(),
                at: following.cursor
            ) { answer in
                if case .success(let outcome) = answer {
                    heard.record("answer \(outcome.place.seq)")
                }
            }
        }
        self.machine.machine.endGathering()
        self.log.finish(0)
        #expect(heard.heard.isEmpty)
        #expect(jobs.heard.count == 1)
        jobs.heard.last?()
        #expect(
            heard.heard == ["change 1", "change 2", "change 3", "answer 1", "answer 2", "answer 3"]
        )
        // Nobody is left there, and the context may have ended.
        following.registration.cancel()
        self.machine.machine.afterCommits(at: following.cursor) { heard.record("too late") }
        #expect(jobs.heard.count == 1)
        #expect(heard.heard.count == 6)
    }

    @Test(.enabled(if: Processors.areSeveral, "it never lingers on a single processor"))
    func whoLingersIsNotWokenAndAfterwardsIs() {
        let jobs = Recorder<@Sendable () -> Void>()
        let context = WatchedContext(isCurrent: true) { jobs.record($0) }
        let heard = Recorder<UInt64>()
        let machine = StateMachine<AppState>()
        let following = machine.machine.follow(on: context) { heard.record($0.seq) }
        var spin = AdaptiveSpin(timeout: .seconds(3600))
        following.cursor.linger(&spin) {
            if machine.snapshot.seq == 0 { machine.state = .ready(true) }
            return heard.heard.isEmpty
        }
        #expect(heard.heard == [1])
        #expect(jobs.heard.isEmpty)
        var haste = AdaptiveSpin(timeout: .zero)
        following.cursor.linger(&haste) { true }
        machine.state = .ready(false)
        #expect(jobs.heard.count == 1)
    }

    @Test func nothingIsAssignedToldOrAnsweredBeforeItIsCommitted() {
        let listener = Listener()
        self.machine.addDelegate(listener)
        self.propose(.ready(true))
        #expect(self.machine.state == .ready(false))
        #expect(listener.seqs.isEmpty)
        #expect(self.outcomes.heard.isEmpty)
        self.log.finish(0)
        #expect(self.machine.state == .ready(true))
        #expect(listener.heard.heard == self.log.groups.heard[0].transitions)
        #expect(self.committed == [1])
    }

    @Test func whileOneGroupIsCommittedTheNextGathers() {
        self.propose(.ready(true))
        self.propose(.authentication(.active))
        self.propose(.authentication(.success))
        #expect(self.log.groups.heard.map { $0.transitions.map(\.seq) } == [[1]])
        self.log.finish(0)
        #expect(self.log.groups.heard.map { $0.transitions.map(\.seq) } == [[1], [2, 3]])
        self.log.finish(1)
        #expect(self.committed == [1, 2, 3])
    }

    @Test func whatGathersIsEvaluatedAgainstTheStateAsItWillBe() {
        self.propose(.ready(true))
        self.propose(.ready(true))
        self.machine.propose(
            .authentication(.idle),
            expecting: { $0.seq == 1 },
            completion: { self.outcomes.record($0) }
        )
        self.log.finish(0)
        self.log.finish(1)
        #expect(self.committed == [1, nil, 2])
        #expect(self.machine.snapshot.seq == 2)
    }

    @Test func aFailingCommitMeansThatNothingChanged() {
        let listener = Listener()
        self.machine.addDelegate(listener)
        self.propose(.ready(true))
        self.log.finish(0, failure: "the disk is full")
        #expect(
            self.outcomes.heard == [
                .failure(
                    TransitionError(
                        .notCommitted(why: "the disk is full"),
                        current: self.machine.snapshot
                    )
                )
            ]
        )
        #expect(self.machine.snapshot.seq == 0)
        #expect(listener.seqs.isEmpty)
    }

    @Test func whatGatheredBehindAFailedGroupIsEvaluatedAgain() {
        let beginning = self.machine.snapshot
        self.propose(.ready(true))
        self.machine.propose(
            .authentication(.idle),
            expecting: { $0.state == .ready(true) },
            completion: { self.outcomes.record($0) }
        )
        self.propose(.dataRetrieval(.idle))
        self.log.finish(0, failure: "the disk is full")
        self.log.finish(1)
        #expect(self.committed == [nil, nil, 1])
        #expect(self.outcomes.heard[1] == .failure(TransitionError(.conflict, current: beginning)))
        #expect(self.machine.state == .dataRetrieval(.idle))
    }

    /// A locked disk says so only after a while, so proposals of the same state do not each wait
    /// for it.
    @Test func aStateThatManyAskForFailsOnce() {
        self.machine.machine.beginGathering()
        for _ in 1...50 { self.propose(.ready(true)) }
        self.machine.machine.endGathering()
        // These arrive while the disk is being tried.
        for _ in 1...50 { self.propose(.ready(true)) }
        self.propose(.dataRetrieval(.idle))
        self.propose(.dataRetrieval(.idle))
        self.log.finish(0, failure: "the database is locked")
        #expect(
            self.log.groups.heard.map { $0.transitions.map(\.new) }
                == [[.ready(true)], [.dataRetrieval(.idle)]]
        )
        #expect(self.outcomes.heard.count == 100)
        self.log.finish(1, failure: "the database is locked")
        let failure = TransitionError<AppState>(
            .notCommitted(why: "the database is locked"),
            current: self.machine.snapshot
        )
        #expect(self.outcomes.heard == Array(repeating: .failure(failure), count: 102))
    }

    @Test func votersAreAskedOnlyWhenTheyHaveHeardWhatWasCommitted() {
        let asks = Recorder<Ask>()
        let listener = Listener()
        self.machine.addDelegate(listener)
        self.machine.addVoter(
            label: "v",
            on: .immediate,
            before: Self.authenticates
        ) { asks.record($0) }
        self.propose(.ready(true))
        self.propose(.authentication(.idle))
        #expect(asks.heard.isEmpty)
        self.log.finish(0)
        #expect(asks.heard.map(\.proposal.current.seq) == [1])
        #expect(listener.seqs == [1])
        asks.heard[0].vote(.yes)
        #expect(self.committed == [1])
        self.log.finish(1)
        #expect(self.committed == [1, 2])
    }

    @Test func whatIsBeingCommittedIsWaitedForThoughNothingMoreIsTaken() throws {
        let machine = StateMachine<AppState> {
            $0.log = self.log
            $0.proposalLimit = 2
        }
        let order = Recorder<String>()
        machine.propose(.ready(true)) { _ in order.record("answered") }
        machine.machine.beginGathering()
        for _ in 1...3 {
            machine.propose(.authentication(.idle)) { answer in
                if case .failure(let error) = answer, error.reason == .overloaded {
                    order.record("overloaded")
                }
            }
        }
        #expect(order.heard == ["overloaded"])
        machine.machine.afterCommits { order.record("all has been answered") }
        #expect(order.heard == ["overloaded"])
        self.log.finish(0)
        try #require(order.heard == ["overloaded", "answered"])
        self.log.finish(1)
        #expect(order.heard == ["overloaded", "answered", "all has been answered"])
    }

    @Test func aStateThatTheLogDoesNotCommitDoesNotEndTheProcess() async {
        await #expect(processExitsWith: .success) {
            let machine = StateMachine<AppState> { $0.log = FullLog() }
            machine.state = .ready(true)
            precondition(machine.snapshot.seq == 0)
        }
    }

    @Test func whoAssignsInVainIsHeardOf() async {
        let unassigned = Recorder<(AppState, TransitionError<AppState>)>()
        let machine = StateMachine<AppState> {
            $0.log = FullLog()
            $0.unassigned = { unassigned.record(($0, $1)) }
        }
        await onThreads(1) { _ in machine.state = .ready(true) }
        let heard = unassigned.heard
        #expect(heard.map(\.0) == [.ready(true)])
        #expect(
            heard.map(\.1) == [
                TransitionError(.notCommitted(why: "the disk is full"), current: machine.snapshot)
            ]
        )
        #expect(machine.snapshot.seq == 0)
    }

    @Test func whatIsQueuedInVainIsHeardOfWhenTheMachineIsOverloaded() {
        let unassigned = Recorder<TransitionError<AppState>>()
        let log = QueueLog()
        let machine = StateMachine<AppState> {
            $0.log = log
            $0.proposalLimit = 0
            $0.unassigned = { unassigned.record($1) }
        }
        machine.state = .ready(true)
        #expect(unassigned.heard == [TransitionError(.overloaded, current: machine.snapshot)])
    }

    @Test func assigningWaitsForTheLog() async throws {
        let log = QueueLog()
        let machine = StateMachine<AppState> { $0.log = log }
        await onThreads(4) { _ in machine.churn(50) }
        await machine.flush()
        #expect(log.seqs.heard == Array(1...machine.snapshot.seq))
    }

    @Test func anAssignmentWaitsForTheLogButForNoVoter() async throws {
        let log = QueueLog()
        let machine = StateMachine<AppState> { $0.log = log }
        let asks = Recorder<Ask>()
        machine.addVoter(
            label: "silent",
            on: .immediate,
            before: Self.authenticates
        ) { asks.record($0) }
        let outcomes = self.outcomes
        machine.propose(.authentication(.idle), asking: Question(deadline: nil)) {
            outcomes.record($0)
        }
        #expect(asks.heard.count == 1)
        await onThreads(1) { _ in machine.state = .ready(true) }
        #expect(machine.state == .ready(true))
        asks.heard[0].vote(.yes)
        #expect(
            await outcomes.wait(for: 1) == [
                .failure(TransitionError(.stale, current: machine.snapshot))
            ]
        )
    }

    @Test func aVoteWhileAnAssignmentIsOnItsWayWaitsForHowThatEnds() async {
        let asks = Recorder<Ask>()
        self.machine.addVoter(
            label: "v",
            on: .immediate,
            before: Self.authenticates
        ) { asks.record($0) }
        self.propose(.authentication(.idle))
        let machine = self.machine
        let refused = Recorder<Bool>()
        async let assigned: Void = onThreads(1) { _ in
            refused.record(Result { try machine.assign(.ready(true)) }.isFailure)
        }
        await self.log.groups.wait(for: 1)
        asks.heard[0].vote(.yes)
        #expect(self.outcomes.heard.isEmpty)
        // The assignment did not happen, so the voted proposal is not stale.
        self.log.finish(0, failure: "the disk is full")
        await assigned
        #expect(refused.heard == [true])
        await self.log.groups.wait(for: 2)
        self.log.finish(1)
        #expect(self.committed == [1])
    }

    /// On the log's own queue, and where the gate calls.
    @Test(arguments: [true, false])
    func whatAssignsWhereItWouldWaitForItselfIsQueued(onTheLog: Bool) async {
        let log = QueueLog()
        let machine = StateMachine<AppState> { $0.log = log }
        let refusals = Recorder<Bool>()
        let assign = { @Sendable in
            refusals.record(Result { try machine.assign(.dataRetrieval(.idle)) }.isWouldWait)
            machine.state = .authentication(.active)
        }
        let listener = Listener { if !onTheLog, $0.seq == 1 { assign() } }
        machine.addDelegate(listener)
        if onTheLog { log.perform(assign) } else { machine.state = .ready(true) }
        await listener.heard.wait(for: onTheLog ? 1 : 2)
        #expect(machine.state == .authentication(.active))
        #expect(refusals.heard == [true])
    }

    @Test(.enabled(if: Processors.areSeveral, "a single processor has nothing to gain by it"))
    func aHeldBurstThatIsLongGoesToTheLogWhileItGrows() {
        self.machine.machine.beginGathering()
        for count in 1...300 { self.propose(.ready(!count.isMultiple(of: 2))) }
        #expect(self.log.groups.heard.map(\.transitions.count) == [128])
        self.machine.machine.endGathering()
        self.log.finish(0)
        self.log.finish(1)
        #expect(self.log.groups.heard.map(\.transitions.count) == [128, 172])
        #expect(self.committed == (1...300).map { $0 })
    }

    @Test func aLogThatAnswersAGroupTwiceEndsTheProcessAndNotTheNextGroup() async {
        await #expect(processExitsWith: .failure) {
            let log = PatientLog<AppState>()
            let machine = StateMachine<AppState> { $0.log = log }
            machine.propose(.ready(true)) { _ in }
            log.finish(0)
            machine.propose(.authentication(.active)) { _ in }
            // The second group is under way.
            guard log.groups.heard.count == 2 else { exit(0) }
            log.finish(0)
        }
    }

    @Test func aProposalThatGathersBehindAStuckLogIsWithdrawnWithItsTask() async {
        let log = PatientLog<Door>()
        let machine = StateMachine<Door> { $0.log = log }
        let answers = Recorder<String>()
        machine.propose(.open(1)) { answers.record("open: \($0.isCommitted)") }
        let waiting = Task.immediate { try await machine.propose(.closed) }
        await others()
        // Legal only after the one that is withdrawn.
        machine.propose(.locked) { answers.record("locked: \($0.isCommitted)") }
        machine.propose(.open(2)) { answers.record("open again: \($0.isCommitted)") }
        waiting.cancel()
        let outcome = Recorder<Refusal?>()
        #expect(await returns { outcome.record(await waiting.refusal) })
        #expect(outcome.heard == [.withdrawn])
        #expect(answers.heard == [])
        log.finish(0)
        log.finish(1)
        #expect(answers.heard == ["open: true", "locked: false", "open again: true"])
        #expect(machine.state == .open(2))
    }
}

extension Result where Failure == any Error {
    fileprivate var isFailure: Bool {
        switch self {
        case .success: false
        case .failure: true
        }
    }

    fileprivate var isWouldWait: Bool {
        switch self {
        case .success: return false
        case .failure(let error):
            return (error as? TransitionError<AppState>)?.reason == .wouldWait
        }
    }
}

extension Result where Failure == TransitionError<Door>, Success == StateMachine<Door>.Acceptance {
    fileprivate var isCommitted: Bool {
        switch self {
        case .success(.committed): true
        case .success(.unchanged), .failure: false
        }
    }
}

extension Task where Success == StateMachine<Door>.Acceptance, Failure == any Error {
    /// Why the proposal was refused; nil if it was not.
    fileprivate var refusal: Refusal? {
        get async {
            switch await self.result {
            case .success: nil
            case .failure(let error): (error as? TransitionError<Door>)?.reason
            }
        }
    }
}

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

import Dispatch
import Glibc
import StateMachineTesting
import TestSupport
import Testing

@testable import StateMachineCore

/// Where what was done differed from what is promised, in corners.
@Suite(.bounded) struct CoreDefectsTests {
    @Test func whatACancelledRegistrationWouldHaveBegunWithMayCallTheMachineAsItGoes() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let queue = DispatchQueue(label: "suspended")
                let machine = StateMachine<Errand>(.idle)
                let kept = machine.addReceptionist(
                    on: .queue(queue),
                    selecting: { $0.seq },
                    delivering: .settled(after: .seconds(60))
                ) { _ in }
                let goings = Recorder<Int>()
                machine.state = .running(
                    Load { [weak machine] in
                        goings.record(machine?.responders(to: Errand.idle.name) ?? -1)
                    }
                )
                for _ in 0..<4 { queue.sync {} }
                queue.suspend()
                machine.addObserver(on: .queue(queue), starting: .current) { _ in }.cancel()
                kept.flush()
                machine.state = .idle
                machine.state = .done
                machine.state = .idle
                queue.resume()
                for _ in 0..<4 { queue.sync {} }
                guard goings.heard == [1] else { exit(3) }
            }
        }
    }

    @Test func aReceptionistThatIsClosedInItsTaskIsCalledNoMore() async {
        let queue = DispatchQueue(label: "suspended")
        let calls = Recorder<Int>()
        let place = Recorder<EventReceptionist<Int>>()
        let receptionist = EventReceptionist<Int>(on: .queue(queue)) { batch in
            calls.record(batch.values.count)
            place.heard.first?.close()
        }
        place.record(receptionist)
        queue.suspend()
        for event in 0..<10 { receptionist.receive(event) }
        queue.resume()
        await passed(queue)
        #expect(calls.heard == [1])
    }

    @Test(arguments: [false, true])
    func aReceptionistThatIsCancelledInItsTaskIsCalledNoMore(atSource: Bool) async {
        let queue = DispatchQueue(label: "suspended")
        let calls = Recorder<[Bool]>()
        let place = Recorder<Registration>()
        let machine = StateMachine<AppState>()
        // Paced, so that one turn has two to deliver: the first at once, and what a flush brings.
        let registration = machine.addReceptionist(
            on: .queue(queue),
            selecting: { $0.new == .ready(true) },
            atSource: atSource,
            delivering: atSource ? .each : .paced(every: .seconds(3600)),
            task: { batch in
                calls.record(batch.values)
                place.heard.first?.cancel()
            }
        )
        place.record(registration)
        queue.suspend()
        machine.churn(10)
        registration.flush()
        queue.resume()
        await passed(queue)
        await passed(queue)
        #expect(calls.heard == [[true]])
    }

    @Test(arguments: [false, true], [false, true])
    func whoCancelsAgainWaitsForTheTaskThatStillRuns(atSource: Bool, cancelledBefore: Bool) async {
        let machine = StateMachine<AppState>()
        let events = Recorder<String>()
        let gate = TestSupport.Gate()
        let registration = machine.addReceptionist(
            on: .queue(DispatchQueue(label: "slow")),
            selecting: { $0.seq },
            atSource: atSource,
            task: { _ in
                events.record("begun")
                gate.pass()
                events.record("ended")
            }
        )
        machine.state = .ready(true)
        await events.wait(for: 1)
        if cancelledBefore { registration.cancel() }
        await begin("cancelled", in: events) { await registration.cancelAndWait() }
        gate.open()
        #expect(await events.wait(for: 3) == ["begun", "ended", "cancelled"])
    }

    @Test func cancellingALimitOfAStayWaitsForWhatItBecomesAndKeepsThatFromHappening() async {
        let machine = StateMachine<AppState>(.authentication(.active))
        let events = Recorder<String>()
        let gate = TestSupport.Gate()
        let registration = machine.after(.milliseconds(1), in: .authentication) { _ in
            events.record("begun")
            gate.pass()
            events.record("became")
            return .dataRetrieval(.failure)
        }
        await events.wait(for: 1)
        await begin("cancelled", in: events) { await registration.cancelAndWait() }
        gate.open()
        #expect(await events.wait(for: 3) == ["begun", "became", "cancelled"])
        #expect(machine.state == .authentication(.active))
    }

    @Test func cancellingATaskOfAStayWaitsForItThoughTheMachineGoesMeanwhile() async {
        let events = Recorder<String>()
        let (registration, release) = await working(events)
        await events.wait { $0.contains("cancelled") }
        await begin("waited", in: events) { await registration.cancelAndWait() }
        release.record(())
        #expect(await returns { await events.wait(for: 4) })
        #expect(events.heard == ["begun", "cancelled", "ended", "waited"])
    }

    @Test func whoCancelsATaskOfAStayIsToldThoughTheMachineGoesMeanwhile() async {
        let events = Recorder<String>()
        let begun = Recorder<Registration>()
        let release = Recorder<Void>()
        await {
            let machine = StateMachine<AppState>(.ready(true))
            begun.record(work(in: machine, events, until: release))
            await events.wait(for: 1)
            Task.immediate {
                await begun.heard.first?.cancelAndWait()
                events.record("waited")
            }
            await events.wait(for: 2)
        }()
        await others()
        release.record(())
        #expect(await returns { await events.wait(for: 4) })
        #expect(events.heard == ["begun", "cancelled", "ended", "waited"])
    }

    @Test(arguments: WayToListen.allCases, [false, true])
    func whatWasCommittedIsToldBeforeAFlushReturns(
        _ listening: WayToListen,
        ofTheMachine: Bool
    ) async {
        let machine = StateMachine<AppState>()
        let events = Recorder<String>()
        let gate = TestSupport.Gate()
        let queue = DispatchQueue(label: "slow")
        let delegate = Listener { _ in
            gate.pass()
            events.record("told")
        }
        let registration = listening.begin(delegate, with: machine, on: .queue(queue))
        machine.state = .ready(true)
        await begin("flushed", in: events) {
            if ofTheMachine { await machine.flush() } else { await registration.flushAndWait() }
        }
        gate.open()
        #expect(await events.wait(for: 2) == ["told", "flushed"])
    }

    @Test func whatAThreadIsAboutToPutInAtTheSourceIsToldBeforeAFlushReturns() async {
        let machine = StateMachine<AppState>()
        let events = Recorder<String>()
        let gate = TestSupport.Gate()
        let queue = DispatchQueue(label: "target")
        let registration = machine.addReceptionist(
            on: .queue(queue),
            selecting: { transition in
                events.record("selected")
                gate.pass()
                return transition.seq
            },
            atSource: true,
            task: { _ in events.record("told") }
        )
        DispatchQueue(label: "setter").async { machine.state = .ready(true) }
        await events.wait(for: 1)
        await begin("flushed", in: events) { await registration.flushAndWait() }
        gate.open()
        #expect(await events.wait(for: 3) == ["selected", "told", "flushed"])
    }

    @Test func aFlushEndsWhenItsRegistrationIsCancelledThoughTheContextIsStuck() async {
        let machine = StateMachine<AppState>()
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        defer { queue.resume() }
        let registration = machine.addObserver(on: .queue(queue)) { _ in }
        machine.state = .ready(true)
        let flush = Task.immediate { await registration.flushAndWait() }
        await others()
        registration.cancel()
        #expect(await returns { await flush.value })
    }

    @Test func callsThatWaitAreMadeBeforeAFlushOfTheirDelegatesRegistrationReturns() async {
        let delegates = MulticastDelegate<AnyObject>()
        let events = Recorder<String>()
        let gate = TestSupport.Gate()
        let listener = Listener()
        let registration = delegates.add(listener, on: .queue(DispatchQueue(label: "slow")))
        delegates.broadcast((any StateDelegate).self) { _ in
            gate.pass()
            events.record("called")
        }
        await begin("flushed", in: events) { await registration.flushAndWait() }
        gate.open()
        #expect(await events.wait(for: 2) == ["called", "flushed"])
    }

    @Test func aFlushOfTheMachineCoversWhatARegistrationBeginsWith() async {
        let machine = StateMachine<AppState>()
        let events = Recorder<String>()
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        machine.addObserver(on: .queue(queue), starting: .current) { _ in
            events.record("told")
        }
        await begin("flushed", in: events) { await machine.flush() }
        queue.resume()
        #expect(await events.wait(for: 2) == ["told", "flushed"])
    }

    @Test(arguments: WayToListen.allCases)
    func aFlushOfARegistrationOnAStoppedThreadReturns(_ listening: WayToListen) async {
        let thread = NotificationThread(name: "stopped")
        let machine = StateMachine<AppState>()
        let registration = listening.begin(Listener(), with: machine, on: thread)
        thread.stop()
        machine.state = .ready(true)
        #expect(await returns { await registration.flushAndWait() })
        #expect(await returns { await machine.flush() })
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

    @Test(arguments: [false, true])
    func anIteratorThatComesLateGetsTheNewestOnly(perKey: Bool) async {
        let machine = StateMachine<AppState>()
        let delivery: Delivery<Transition<AppState>> =
            perKey ? .latestPer { $0.new.name } : .latest
        var iterator = machine.transitions(starting: .next, delivering: delivery)
            .map { $0.seq }
            .makeAsyncIterator()
        for _ in 0..<100 {
            machine.state = .authentication(.active)
            machine.state = .ready(true)
            await machine.flush()
        }
        if perKey {
            #expect(await iterator.next() == 199)
        }
        #expect(await iterator.next() == 200)
        machine.state = .ready(false)
        #expect(await iterator.next() == 201)
    }

    @Test func aBatchOfAnySizeFills() {
        let batches = Recorder<Delivery<Int>.Batch>()
        let receptionist = EventReceptionist<Int>(
            on: .immediate,
            delivering: .batch(every: .seconds(1), atMost: 5000),
            clock: ManualClock()
        ) {
            batches.record($0)
        }
        for event in 0..<5000 { receptionist.receive(event) }
        #expect(batches.heard.map(\.values.count) == [5000])
        #expect(batches.heard.map(\.dropped) == [0])
    }

    /// What was to ring for a batch that is delivered by its count, or by a flush, is not for the next one.
    @Test(arguments: [true, false]) func aBatchesIntervalBeginsWithItsFirstValue(byCount: Bool) {
        var coalescer = Coalescer<Int>(.batch(every: .seconds(1), atMost: byCount ? 2 : 99))
        func step(_ action: Coalescer<Int>.Action) -> String {
            switch action {
            case .wait: "wait"
            case .deliver(let batch, nil): "deliver \(batch.values)"
            case .deliver(let batch, let pause?): "deliver \(batch.values), ring after \(pause)"
            case .ring(let pause): "ring after \(pause)"
            }
        }
        #expect(step(coalescer.received(1, seq: 1)) == "ring after 1.0 seconds")
        let second = step(coalescer.received(2, seq: 2))
        #expect((byCount ? second : step(coalescer.deliver())) == "deliver [1, 2]")
        #expect(step(coalescer.received(3, seq: 3)) == "ring after 1.0 seconds")
        #expect(step(coalescer.rang()) == "deliver [3]")
        // One that still rings has nothing to deliver.
        #expect(step(coalescer.rang()) == "wait")
    }

    @Test func aSlowPredicateKeepsNobodyElseFromFindingAState() async {
        // A process of its own: a predicate that blocks takes one of the pool's threads.
        await #expect(processExitsWith: .success) {
            let clock = ManualClock()
            let machine = StateMachine<AppState> { $0.clock = clock }
            let gate = TestSupport.Gate()
            let begun = Recorder<Void>()
            let slow = Task.immediate {
                try? await machine.wait { state in
                    guard state == .ready(true) else { return false }
                    begun.record(())
                    gate.pass()
                    return true
                }
            }
            await others()
            machine.state = .ready(true)
            await begun.wait(for: 1)
            let other = Task {
                try? await machine.wait(
                    until: { $0 == .authentication(.active) },
                    within: .seconds(1)
                )
            }
            await clock.sleepers(1)
            machine.state = .authentication(.active)
            machine.state = .ready(false)
            clock.advance(by: .seconds(2))
            guard await other.value?.seq == 2 else { exit(3) }
            gate.open()
            guard await slow.value?.seq == 1 else { exit(4) }
        }
    }

    @Test func aWaitThatFallsBehindALimitFindsTheStateThatTheMachineStaysIn() async {
        // A process of its own: a predicate that blocks takes one of the pool's threads.
        await #expect(processExitsWith: .success) {
            let machine = StateMachine<AppState> { $0.laneLimit = 2 }
            let gate = TestSupport.Gate()
            let begun = Recorder<Void>()
            let waiting = Task.immediate {
                try? await machine.wait(
                    until: { state in
                        if state == .ready(true) {
                            begun.record(())
                            gate.pass()
                        }
                        return state == .authentication(.failure)
                    },
                    within: .seconds(60)
                )
            }
            await others()
            machine.state = .ready(true)
            await begun.wait(for: 1)
            for _ in 0..<10 {
                machine.state = .dataRetrieval(.active)
                machine.state = .dataRetrieval(.success)
            }
            machine.state = .authentication(.failure)
            gate.open()
            guard await waiting.value?.seq == 22 else { exit(3) }
        }
    }

    @Test func whatListensBehindALimitHearsTheNewestOfWhatItMisses() async {
        let machine = StateMachine<AppState> { $0.laneLimit = 2 }
        let queue = DispatchQueue(label: "suspended")
        let (closure, latest, entering, leaving, others) = (
            Heard(), Heard(), Heard(), Heard(), Heard()
        )
        machine.addObserver(on: .queue(queue)) { closure.record($0) }
        machine.addObserver(on: .queue(queue), delivering: .latest) { latest.record($0) }
        machine.addObserver(on: .queue(queue), of: [.authentication]) { others.record($0) }
        machine.onEnter(.dataRetrieval, on: .queue(queue)) { entering.record($0) }
        machine.onExit(.ready, on: .queue(queue)) { leaving.record($0) }
        queue.suspend()
        machine.churn(11)
        machine.state = .dataRetrieval(.active)
        queue.resume()
        await machine.flush()
        for heard in [closure, latest, entering, leaving] {
            #expect(heard.heard.last?.seq == 12)
        }
        #expect(others.heard.isEmpty)
    }

    @Test(arguments: [false, true])
    func aDelegateThatIsRemovedIsWaitedForNoLonger(beforeItIsAsked: Bool) async {
        let delegates = MulticastDelegate<AnyObject>()
        let queue = DispatchQueue(label: "asked")
        let asked = Listener()
        let registration = delegates.add(asked, on: .queue(queue))
        let replies = Recorder<@Sendable (Vote) -> Void>()
        let verdicts = Recorder<[Vote.Denial]>()
        if beforeItIsAsked { queue.suspend() }
        delegates.ask(
            (any StateDelegate).self,
            Question(deadline: nil),
            put: { replies.record($1) },
            completion: { verdicts.record($0) }
        )
        if beforeItIsAsked {
            delegates.remove(asked)
        } else {
            await replies.wait(for: 1)
            registration.cancel()
        }
        #expect(await returns { await verdicts.wait(for: 1) })
        #expect(verdicts.heard == [[]])
        if beforeItIsAsked { queue.resume() }
    }

    @Test func aDelegateThatIsRemovedAmendsNothing() async {
        let delegates = MulticastDelegate<AnyObject>()
        let queue = DispatchQueue(label: "asked")
        let asked = Listener()
        delegates.add(asked, on: .queue(queue))
        queue.suspend()
        defer { queue.resume() }
        let amended = Task.immediate {
            await delegates.amend((any StateDelegate).self, 1, Question(deadline: nil)) { $1 + 1 }
        }
        await others()
        delegates.remove(asked)
        let values = Recorder<Int?>()
        #expect(await returns { values.record(await amended.value) })
        #expect(values.heard == [1])
    }

    @Test func aJobThatDrainsItsThreadRunsWhatWasSentBeforeInOrder() async {
        let thread = NotificationThread(name: "nested")
        let ran = Recorder<Int>()
        let gate = TestSupport.Gate()
        thread.enqueue { gate.pass() }
        thread.enqueue {
            ran.record(1)
            thread.enqueue { ran.record(4) }
            thread.drain()
        }
        thread.enqueue { ran.record(2) }
        thread.enqueue { ran.record(3) }
        gate.open()
        #expect(await ran.wait(for: 4) == [1, 2, 3, 4])
        thread.stop()
    }

    @Test func whoeverWaitsForSleepersStopsWhenItsTaskIsCancelled() async {
        let clock = ManualClock()
        let waiting = Task.immediate { await clock.sleepers(1) }
        await others()
        waiting.cancel()
        #expect(await returns { await waiting.value })
        let early = Task {
            await others()
            await clock.sleepers(1)
        }
        early.cancel()
        #expect(await returns { await early.value })
    }

    @Test func aStayThatIsRenewedSleepsOnceTheMachineIsFlushed() async {
        let clock = ManualClock()
        let machine = StateMachine<AppState> { $0.clock = clock }
        machine.after(.seconds(1), in: .authentication) { _ in .ready(true) }
        for _ in 0..<100 {
            machine.state = .authentication(.active)
            await machine.flush()
            await clock.sleepers(1)
            machine.state = .authentication(.success)
            await machine.flush()
            await clock.sleepers(1)
            clock.advance(by: .seconds(1))
            _ = try? await machine.wait { $0 == .ready(true) }
        }
        #expect(machine.snapshot.seq == 300)
    }

    @Test(arguments: [nil, 100])
    func aRetiredDrainPassesNothingThatCameAfterItsEnd(limit: Int?) async {
        let first = LogEntry(.beginning)
        let queue = DispatchQueue(label: "retired")
        let drain = Drain(on: queue, ObjectIdentifier(first), after: first, limit: limit)
        let passings = Recorder<Int>()
        var last = first
        for position in 1...10 {
            let entry = LogEntry(
                .beginning,
                deliveryCount: DeliveryCount(drains: 1) { _ in passings.record(position) }
            )
            last.append(entry)
            last = entry
            if position == 3 { drain.retire(after: 3) }
        }
        drain.wake()
        for _ in 0..<4 { await passed(queue) }
        #expect(passings.heard == [1, 2, 3])
    }
}

/// A state that holds what runs a closure when it goes.
private enum Errand: MachineState {
    case idle
    case running(Load)
    case done

    static func == (left: Errand, right: Errand) -> Bool {
        switch (left, right) {
        case (.idle, .idle), (.done, .done): true
        case (.running(let left), .running(let right)): left === right
        case (.idle, _), (.running, _), (.done, _): false
        }
    }
}

private final class Load: Sendable {
    private let going: @Sendable () -> Void

    init(going: @escaping @Sendable () -> Void) { self.going = going }

    deinit { self.going() }
}

/// Lets other tasks run for a while: what is to come later has the time to come too early.
private func others() async {
    for _ in 0..<1000 { await Task.yield() }
}

/// Begins what is recorded when it has ended, and lets other tasks run.
private func begin(
    _ what: String,
    in events: Recorder<String>,
    _ body: @escaping @Sendable () async -> Void
) async {
    Task.immediate {
        await body()
        events.record(what)
    }
    await others()
}

/// Whether `body` returns; left behind after a minute if it does not.
private func returns(_ body: @escaping @Sendable () async -> Void) async -> Bool {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    Task {
        await body()
        end.yield(true)
    }
    let limit = Task {
        try await Task.sleep(for: .milliseconds(Int(longestWait)))
        end.yield(false)
    }
    defer { limit.cancel() }
    for await hasReturned in ends { return hasReturned }
    return false
}

/// Begins a task of the present stay that ends when it is released, and not when it is cancelled.
private func work(
    in machine: StateMachine<AppState>,
    _ events: Recorder<String>,
    until release: Recorder<Void>
) -> Registration {
    machine.during(.ready) { _ in
        events.record("begun")
        await withTaskCancellationHandler {
            _ = await release.wait(for: 1)
        } onCancel: {
            events.record("cancelled")
        }
        events.record("ended")
    }
}

/// As ``work(in:_:until:)``, of a machine that is gone by then.
private func working(
    _ events: Recorder<String>
) async -> (registration: Registration, release: Recorder<Void>) {
    let release = Recorder<Void>()
    let machine = StateMachine<AppState>(.ready(true))
    let registration = work(in: machine, events, until: release)
    await events.wait(for: 1)
    return (registration, release)
}

/// The ways to listen to a machine.
enum WayToListen: CaseIterable {
    case delegate
    case closure
    case latest
    case entering
    case receptionist
    case source

    /// Tells `listener` of what it hears.
    func begin(
        _ listener: Listener,
        with machine: StateMachine<AppState>,
        on context: any ExecutionContext
    ) -> Registration {
        switch self {
        case .delegate: machine.addDelegate(listener, on: context, retaining: true)
        case .closure: machine.addObserver(on: context) { listener.stateChanged($0) }
        case .latest:
            machine.addDelegate(listener, on: context, retaining: true, delivering: .latest)
        case .entering: machine.onEnter(.ready, on: context) { listener.stateChanged($0) }
        case .receptionist, .source:
            machine.addReceptionist(
                on: context,
                selecting: { $0 },
                atSource: self == .source,
                task: { for transition in $0.values { listener.stateChanged(transition) } }
            )
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

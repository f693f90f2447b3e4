import Dispatch
import TestSupport
import Testing

@testable import StateMachineCore

/// What has been told when a flush returns, and that it returns.
@Suite(.bounded) struct FlushTests {
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

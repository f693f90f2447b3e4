import Dispatch
import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

@Suite struct DeliveryTests {
    @Test func allContextsAgreeOnTheOrder() async {
        let machine = StateMachine<AppState>()
        let thread = NotificationThread(name: "listener")
        let contexts = Place.allCases.map(\.context) + [.queue(.main), thread]
        let listeners = contexts.map { context in
            let listener = Listener { _ in #expect(context.isCurrent != false) }
            machine.addDelegate(listener, on: context)
            return listener
        }
        await onThreads(4) { _ in machine.churn(500) }
        await machine.flush()
        let orders = Set(listeners.map(\.heard.heard))
        #expect(orders.count == 1)
        let heard = orders.first ?? []
        #expect(heard.map(\.seq) == Array(1...machine.snapshot.seq))
        #expect(heard.first?.old == .initial)
        #expect(zip(heard, heard.dropFirst()).allSatisfy { $0.new == $1.old })
        thread.stop()
    }

    @Test func immediateDelegatesHaveBeenToldWhenTheAssignmentReturns() {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        machine.addDelegate(listener)
        machine.state = .authentication(.active)
        #expect(listener.heard.heard.map(\.new) == [.authentication(.active)])
    }

    @Test func aContextThatDoesNothingDelaysNobodyElse() async {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        let stuck = Listener()
        let free = Listener()
        machine.addDelegate(stuck, on: held.context)
        machine.addDelegate(free, on: .queue(DispatchQueue(label: "free")))
        machine.churn(100)
        #expect(await free.heard.wait(for: 100).count == 100)
        #expect(stuck.seqs.isEmpty)
        held.open()
        await stuck.heard.wait(for: 100)
    }

    @Test func aStuckContextLosesNothingUnlessALimitIsAskedFor() async {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        let stuck = Listener()
        machine.addDelegate(stuck, on: held.context)
        machine.churn(70_000)
        held.open()
        await machine.flush()
        #expect(stuck.seqs == Array(1...70_000))
        #expect(stuck.missed.heard.isEmpty)
    }

    @Test func anImmediateDelegateIsToldByTheThreadThatIsTellingAlready() async {
        let machine = StateMachine<AppState>()
        let gate = Gate()
        let telling = Recorder<Void>()
        let listener = Listener { transition in
            guard transition.seq == 1 else { return }
            telling.record(())
            gate.pass()
        }
        machine.addDelegate(listener)
        let first = DispatchQueue(label: "first")
        first.async { machine.state = .authentication(.active) }
        await telling.wait(for: 1)
        machine.state = .ready(true)
        // The first exception of point 6: the setter has returned, and its transition is not
        // delivered yet.
        #expect(listener.seqs == [1])
        gate.open()
        await listener.heard.wait(for: 2)
        #expect(listener.seqs == [1, 2])
    }

    @Test func aBoundedFlushGivesUpOnAContextThatNeverRuns() async {
        let clock = ManualClock()
        let machine = StateMachine<AppState> { $0.clock = clock }
        let held = HeldQueue()
        machine.addObserver(on: held.context) { _ in }
        async let hasPassed = machine.flush(within: .seconds(1))
        await clock.sleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await hasPassed == false)
        held.open()
        #expect(await machine.flush(within: .seconds(1)))
    }

    @Test func aTransitionThatNobodyHeardIsReportedOnce() async {
        let unheard = Recorder<UInt64>()
        let machine = StateMachine<AppState> {
            $0.unheard = { unheard.record($0.seq) }
        }
        machine.state = .ready(true)
        let listener = Listener()
        machine.addDelegate(listener, on: .queue(DispatchQueue(label: "a")), of: [.ready])
        machine.addDelegate(listener, of: [.ready])
        machine.state = .authentication(.active)
        machine.state = .ready(false)
        await machine.flush()
        #expect(unheard.heard == [1, 2])
        #expect(listener.seqs == [3, 3])
    }

    @Test func aDelegateHearsOnlyOfTheStatesItAskedFor() {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        machine.addDelegate(listener, of: [.authentication])
        machine.state = .authentication(.active)
        machine.state = .ready(true)
        machine.state = .authentication(.success)
        #expect(listener.seqs == [1, 3])
        #expect(machine.responders(to: .authentication) == 1)
        #expect(machine.responders(to: .ready) == 0)
    }
}

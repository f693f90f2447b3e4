import Dispatch
import StateMachineCore
import TestSupport
import Testing

/// What a delegate that starts with the current state hears first, and that nothing is left out.
@Suite(.bounded) struct BeginningTests {
    @Test func aDelegateThatAsksForTheCurrentStateHasBeenToldOfItWhenItIsAdded() {
        let machine = StateMachine<AppState>()
        machine.state = .authentication(.active)
        let listener = Listener()
        machine.addDelegate(listener, starting: .current)
        let now = machine.snapshot
        #expect(
            listener.heard.heard
                == [Transition(seq: 1, old: now.state, new: now.state, at: now.at)]
        )
        machine.state = .ready(true)
        #expect(listener.seqs == [1, 2])
        #expect(listener.heard.heard.last?.old == .authentication(.active))
    }

    @Test(arguments: Place.allCases)
    func theCurrentStateAndTheNextTransitionAreOneCut(on place: Place) async {
        let machine = StateMachine<AppState>()
        let context = place.context
        let listeners = Recorder<Listener>()
        await onThreads(4) { thread in
            if thread == 0 {
                for _ in 0..<50 {
                    let listener = Listener()
                    machine.addDelegate(listener, on: context, starting: .current)
                    listeners.record(listener)
                }
            } else {
                machine.churn(300)
            }
        }
        await machine.flush()
        let last = machine.snapshot.seq
        for listener in listeners.heard {
            let heard = listener.heard.heard
            guard let first = heard.first else {
                Issue.record("somebody was told of nothing")
                continue
            }
            #expect(first.old == first.new)
            #expect(heard.map(\.seq) == Array(first.seq...last))
            #expect(zip(heard, heard.dropFirst()).allSatisfy { $0.new == $1.old })
        }
    }

    @Test func onAStuckContextTheCurrentStateStillComesFirst() async {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        // Another listener still has to hear what was committed before the second one was added.
        let early = Listener()
        machine.addDelegate(early, on: held.context)
        machine.churn(3)
        let late = Listener()
        machine.addDelegate(late, on: held.context, starting: .current)
        machine.state = .authentication(.active)
        held.open()
        await machine.flush()
        #expect(early.seqs == [1, 2, 3, 4])
        #expect(late.seqs == [3, 4])
    }

    @Test func aDelegateAddedInACallbackIsToldOfTheCurrentStateAfterIt() {
        let machine = StateMachine<AppState>()
        let order = Recorder<String>()
        let late = Listener { order.record("late hears \($0.seq)") }
        let early = Listener { transition in
            guard transition.seq == 1 else { return }
            machine.addDelegate(late, starting: .current)
            order.record("early has heard 1")
        }
        machine.addDelegate(early)
        machine.churn(2)
        #expect(order.heard == ["early has heard 1", "late hears 1", "late hears 2"])
    }

    @Test func aCurrentStateThatTheDelegateDidNotAskForIsNotTold() {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        machine.addDelegate(listener, of: [.authentication], starting: .current)
        #expect(listener.seqs.isEmpty)
        machine.state = .authentication(.active)
        #expect(listener.seqs == [1])
    }

    @Test func whoIsCancelledBeforeItsContextRunsIsNotToldOfTheCurrentState() async {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        let listener = Listener()
        let other = Listener()
        machine.addDelegate(other, on: held.context)
        machine.addDelegate(listener, on: held.context, starting: .current).cancel()
        held.open()
        machine.churn(1)
        await machine.flush()
        #expect(other.seqs == [1])
        #expect(listener.seqs.isEmpty)
    }

    @Test func anObserverAndAnActorMayAskForTheCurrentStateToo() async {
        let machine = StateMachine<AppState>()
        machine.state = .dataRetrieval(.success)
        let observed = Heard()
        machine.addObserver(starting: .current) { observed.record($0) }
        let actor = Beginner()
        machine.addDelegate(actor, starting: .current) { $0.hear($1) }
        machine.state = .ready(true)
        await machine.flush()
        #expect(observed.heard.map(\.seq) == [1, 2])
        #expect(await actor.heard == observed.heard)
    }

    @Test func aDelegatePastItsLimitIsToldTheCurrentStateThenWhatItMissed() async {
        let machine = StateMachine<AppState> { $0.laneLimit = 10 }
        machine.churn(5)
        let held = HeldQueue()
        let stuck = Listener()
        machine.addDelegate(stuck, on: held.context, starting: .current)
        machine.state = .authentication(.active)
        machine.churn(99)
        held.open()
        await machine.flush()
        #expect(stuck.seqs.first == 5)
        #expect((stuck.missed.heard.first ?? 0) + stuck.seqs.count - 1 == 100)
    }
}

private actor Beginner {
    private(set) var heard: [Transition<AppState>] = []

    func hear(_ transition: Transition<AppState>) { self.heard.append(transition) }
}

import Dispatch
import StateMachineCore
import TestSupport
import Testing

@Suite(.bounded) struct ReentrancyTests {
    @Test(arguments: Place.allCases)
    func aTransitionMadeInACallbackCommitsAtOnceAndIsToldAfter(on place: Place) async {
        let machine = StateMachine<AppState>()
        let context = place.context
        let seen = Recorder<AppState>()
        let first = Listener()
        let middle = Listener { transition in
            guard transition.seq == 1 else { return }
            machine.state = .authentication(.success)
            seen.record(machine.state)
        }
        let last = Listener()
        for listener in [first, middle, last] { machine.addDelegate(listener, on: context) }
        machine.state = .authentication(.active)
        // A flush that began now would not wait for the transition that a callback makes.
        for listener in [first, middle, last] { await listener.heard.wait(for: 2) }
        await machine.flush()
        #expect(seen.heard == [.authentication(.success)])
        for listener in [first, middle, last] {
            #expect(listener.seqs == [1, 2])
            #expect(
                listener.heard.heard.map(\.new) == [
                    .authentication(.active), .authentication(.success),
                ]
            )
        }
    }

    @Test(arguments: Place.allCases)
    func aCallbackMayReadSetProposeAddRemoveAndCancel(on place: Place) async {
        let machine = StateMachine<AppState>()
        let context = place.context
        let added = Listener()
        let removed = Listener()
        let busy = Listener { transition in
            guard transition.seq == 1 else { return }
            _ = machine.snapshot
            machine.addDelegate(added, on: context)
            machine.removeDelegate(removed)
            _ = Result { try machine.proposeAtOnce(.ready(true)) }
        }
        machine.addDelegate(busy, on: context)
        machine.addDelegate(removed, on: context)
        machine.state = .authentication(.active)
        await busy.heard.wait(for: 2)
        await machine.flush()
        #expect(busy.seqs == [1, 2])
        #expect(added.seqs == [2])
        #expect(removed.seqs.isEmpty)
    }

    @Test func aDelegateMayCancelItself() async {
        let machine = StateMachine<AppState>()
        let own = Recorder<Registration>()
        let listener = Listener { _ in own.heard.first?.cancel() }
        own.record(machine.addDelegate(listener))
        machine.churn(3)
        #expect(listener.seqs == [1])
    }

    @Test func aDelegateAndAReceptionistMayAnswerEachOtherForever() {
        let machine = StateMachine<AppState>()
        let listener = Listener { transition in
            if transition.seq < 10_000 { machine.state = .ready(!transition.seq.isMultiple(of: 2)) }
        }
        machine.addDelegate(listener)
        machine.state = .authentication(.idle)
        #expect(listener.seqs == Array(1...10_000))
    }

    @Test(arguments: Place.allCases)
    func aStateSetWhenTheBurstHasEndedIsHeardToo(on place: Place) async {
        let machine = StateMachine<AppState>()
        let heard = Heard()
        let cursor = machine.follow(
            on: place.context,
            burstEnd: { machine.state = .dataRetrieval(.success) },
            { heard.record($0) }
        )
        machine.state = .authentication(.active)
        // Not a flush, which would wake the drain once more.
        #expect(await heard.wait(for: 2).map(\.seq) == [1, 2])
        cursor.registration.cancel()
    }
}

import StateMachineCore
import TestSupport
import Testing

@Suite struct ActorDelegateTests {
    @Test func anActorHearsEveryTransitionInOrder() async {
        let machine = StateMachine<AppState>()
        let listener = Listening()
        machine.addDelegate(listener) { $0.hear($1) }
        await onThreads(4) { _ in machine.churn(500) }
        await machine.flush()
        #expect(await listener.seqs == Array(1...machine.snapshot.seq))
    }

    @Test func anActorThatIsGoneIsSkipped() async {
        let machine = StateMachine<AppState>()
        let heard = Recorder<UInt64>()
        do {
            let listener = Listening()
            machine.addDelegate(listener) { heard.record($1.seq) }
            machine.churn(1)
            await machine.flush()
            await listener.hearNothing()
        }
        machine.churn(2)
        await machine.flush()
        #expect(heard.heard == [1])
    }

    @Test func anActorMaySetTheStateInItsCallback() async {
        let machine = StateMachine<AppState>()
        let listener = Listening()
        machine.addDelegate(listener) { actor, transition in
            actor.hear(transition)
            if transition.seq == 1 { machine.state = .dataRetrieval(.active) }
        }
        machine.state = .ready(true)
        await machine.flush()
        await machine.flush()
        #expect(await listener.seqs == [1, 2])
    }

    @Test func afterCancelAndWaitTheActorHearsNothingMore() async {
        let machine = StateMachine<AppState>()
        let listener = Listening()
        let registration = machine.addDelegate(listener) { $0.hear($1) }
        machine.churn(10)
        await registration.cancelAndWait()
        let count = await listener.seqs.count
        machine.churn(11)
        await machine.flush()
        #expect(await listener.seqs.count == count)
    }
}

private actor Listening {
    private(set) var seqs: [UInt64] = []

    func hear(_ transition: Transition<AppState>) { self.seqs.append(transition.seq) }

    func hearNothing() {}
}

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

    @Test func anActorWhereAnotherOneWasHearsInItsOwnIsolation() async {
        await #expect(processExitsWith: .success) {
            let machine = StateMachine<AppState>()
            let heard = Recorder<UInt64>()
            // The allocator gives the freed memory to the next object of that size.
            do {
                let gone = Listening()
                machine.addDelegate(gone) { $0.hear($1) }
            }
            let listener = Listening()
            machine.addDelegate(listener) { actor, transition in
                actor.hear(transition)
                heard.record(transition.seq)
            }
            machine.churn(1)
            machine.state = .authentication(.active)
            await heard.wait(for: 1)
            let seqs = await listener.seqs
            precondition(seqs.first == 1)
        }
    }

    @Test func noOtherActorHasThePlaceOfOneThatIsGoneWhileItsLaneIsThere() async {
        let machine = StateMachine<AppState>()
        var places: Set<ObjectIdentifier> = []
        for _ in 0..<100 {
            let passing = Listening()
            places.insert(ObjectIdentifier(passing))
            machine.addDelegate(passing) { $0.hear($1) }
        }
        #expect(places.count == 100)
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

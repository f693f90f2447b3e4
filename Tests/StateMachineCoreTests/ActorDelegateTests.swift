import Dispatch
import StateMachineCore
import TestSupport
import Testing

@Suite struct ActorDelegateTests {
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

    @Test func noOtherActorHasThePlaceOfOneThatIsGoneWhileItsDrainIsThere() async {
        let machine = StateMachine<AppState>()
        var places: Set<ObjectIdentifier> = []
        // Fewer than are looked through for those that are gone.
        for _ in 0..<50 {
            let passing = Listening()
            places.insert(ObjectIdentifier(passing))
            machine.addDelegate(passing) { $0.hear($1) }
        }
        #expect(places.count == 50)
    }
}

private actor Listening {
    private(set) var seqs: [UInt64] = []

    func hear(_ transition: Transition<AppState>) { self.seqs.append(transition.seq) }

    func hearNothing() {}
}

@MainActor private final class Screen {
    private(set) var shown: [AppState] = []
    let heard = Recorder<AppState>()

    func show(_ state: AppState) {
        dispatchPrecondition(condition: .onQueue(.main))
        self.shown.append(state)
        self.heard.record(state)
    }
}

/// Delegates and closures of the main actor, written as a user would write them.
@Suite(.bounded) struct MainActorTests {
    @Test func aClosureTouchesWhatBelongsToTheMainActor() async {
        let machine = StateMachine<AppState>()
        let screen = Screen()
        machine.addObserver(on: .main, starting: .current) { screen.show($0.new) }
        machine.state = .ready(true)
        machine.state = .authentication(.active)
        await screen.heard.wait(for: 3)
        #expect(await screen.shown == [.ready(false), .ready(true), .authentication(.active)])
    }

    @Test func anObjectIsToldForAsLongAsItLives() async {
        let machine = StateMachine<AppState>()
        var screen: Screen? = Screen()
        let heard = screen?.heard
        if let screen {
            machine.addDelegate(screen, on: .main, of: [.authentication]) { $0.show($1.new) }
        }
        machine.state = .ready(true)
        machine.state = .authentication(.active)
        await machine.flush()
        #expect(heard?.heard == [.authentication(.active)])
        #expect(machine.responders(to: .authentication) == 1)
        screen = nil
        machine.state = .authentication(.success)
        await machine.flush()
        #expect(heard?.heard.count == 1)
        #expect(machine.responders(to: .authentication) == 0)
    }

    @Test func aReceptionistMayWorkThere() async {
        let machine = StateMachine<AppState>()
        let heard = Recorder<AppState>()
        let receptionist = machine.addReceptionist(
            on: .main,
            selecting: { $0.new },
            task: {
                heard.record($0.values[0])
            }
        )
        machine.state = .ready(true)
        #expect(await heard.wait(for: 1) == [.ready(true)])
        receptionist.cancel()
    }
}

import StateMachineCore
import Synchronization
import TestSupport
import Testing

/// Several setters of a machine with an `.immediate` delegate that is slower than they are.
@Suite(.bounded) struct ContentionTests {
    /// Assignments per setter: enough for a visible backlog.
    private static let sets = 30_000

    @Test func aSetterReturnsThoughOthersKeepSettingAndTheBacklogIsBounded() async {
        let machine = StateMachine<AppState>()
        let (others, backlog, told) = (Gate(), Highest(), Highest())
        let observer = machine.addObserver { transition in
            others.open()
            // Slower than setting.
            for _ in 0..<100 { backlog.note(machine.snapshot.seq - transition.seq) }
            told.note(transition.seq)
        }
        let returned = Highest()
        await onThreads(3) { index in
            guard index > 0 else {
                machine.state = .authentication(.active)
                returned.note(machine.snapshot.seq)
                return
            }
            others.pass()
            for step in 0..<Self.sets {
                machine.state = .ready((step + index).isMultiple(of: 2))
                // If two setters set the same in turn, there would be no transition.
                machine.state = .dataRetrieval(step.isMultiple(of: 2) ? .active : .idle)
            }
        }
        let last = machine.snapshot.seq
        #expect(returned.value < last / 2)
        #expect(told.value == last)
        #expect(backlog.value < 1000)
        observer.cancel()
    }

    @Test func callbacksOfTwoMachinesThatSetEachOtherWaitForNobody() async {
        let (one, other) = (StateMachine<AppState>(), StateMachine<AppState>())
        let heard = Highest()
        let registrations = [(one, other), (other, one)].map { (machine, partner) in
            machine.addObserver { transition in
                heard.note(transition.seq)
                // Each answers what a thread sets, but no answer.
                guard transition.cause == nil else { return }
                _ = Result { try partner.assign(transition.new, reenter: true, cause: "answer") }
            }
        }
        await onThreads(4) { index in
            let machine = index.isMultiple(of: 2) ? one : other
            for _ in 0..<2000 { _ = Result { try machine.assign(.ready(true), reenter: true) } }
        }
        await one.flush()
        await other.flush()
        #expect(one.snapshot.seq == 8000 && other.snapshot.seq == 8000)
        #expect(heard.value == 8000)
        for registration in registrations { registration.cancel() }
    }
}

/// The highest number noted so far.
private final class Highest: Sendable {
    private let number = Atomic<UInt64>(0)

    var value: UInt64 { self.number.load(ordering: .sequentiallyConsistent) }

    func note(_ number: UInt64) { self.number.max(number, ordering: .sequentiallyConsistent) }
}

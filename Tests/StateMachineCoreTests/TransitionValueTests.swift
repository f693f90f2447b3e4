import Foundation
import StateMachineCore
import TestSupport
import Testing

@Suite struct TransitionValueTests {
    /// The receptionist's task is a command, and its transition a memento: it can be stored,
    /// compared, and undone.
    @Test func aTransitionIsAValueThatCanBeStoredComparedAndUndone() throws {
        let machine = StateMachine<AppState>()
        let done = Heard()
        machine.addObserver { done.record($0) }
        let peer = Peer(uid: 1000, pid: 42)
        let login = TypedValue(AppState.authentication(.active))
        _ = machine.machine.enterAtOnce(Move(to: login, cause: "login", by: peer), asking: .past)
        try machine.assign(.dataRetrieval(.failure))
        let stored = try JSONEncoder().encode(done.heard)
        let restored = try JSONDecoder().decode([Transition<AppState>].self, from: stored)
        #expect(restored == done.heard)
        #expect(Set(restored + done.heard).count == 2)
        for transition in restored.reversed() { machine.state = transition.old }
        #expect(machine.state == .initial)
        #expect(machine.snapshot.seq == 4)
    }

    @Test func aSnapshotIsAValueThatCanBeStoredAndResumed() throws {
        let machine = StateMachine<Door>()
        try machine.assign(.open(7))
        let stored = try JSONEncoder().encode(machine.snapshot)
        let restored = try JSONDecoder().decode(Snapshot<Door>.self, from: stored)
        #expect(StateMachine(resuming: restored).snapshot == machine.snapshot)
    }
}

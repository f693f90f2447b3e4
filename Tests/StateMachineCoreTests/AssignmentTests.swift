import Foundation
public import StateMachineCore
import TestSupport
import Testing

@Suite struct AssignmentTests {
    @Test func initializationTellsNobodyAndIsSeqZero() async {
        let machine = StateMachine<AppState>(.authentication(.idle))
        let listener = Listener()
        machine.addDelegate(listener)
        await machine.flush()
        #expect(machine.snapshot.seq == 0)
        #expect(machine.state == .authentication(.idle))
        #expect(listener.seqs.isEmpty)
    }

    @Test func anAssignmentIsVisibleToTheSetterAndToEveryThreadAtOnce() async {
        let machine = StateMachine<AppState>()
        machine.state = .dataRetrieval(.active)
        #expect(machine.state == .dataRetrieval(.active))
        let seen = Recorder<AppState>()
        await onThreads(2) { _ in seen.record(machine.state) }
        #expect(seen.heard == [.dataRetrieval(.active), .dataRetrieval(.active)])
    }

    @Test func equalityIncludesThePayloadAndTheNameLeavesItOut() {
        #expect(AppState.authentication(.active) != .authentication(.idle))
        #expect(AppState.authentication(.active).name == AppState.authentication(.idle).name)
        switch AppState.authentication(.active) {
        case .authentication(let phase): #expect(phase == .active)
        case .ready, .dataRetrieval: Issue.record("the wrong case")
        }
    }

    @Test func anEqualAssignmentTellsNobody() {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        machine.addDelegate(listener)
        machine.state = .ready(false)
        #expect(machine.snapshot.seq == 0)
        #expect(listener.seqs.isEmpty)
    }

    @Test func anEqualAssignmentIsToldIfTheMachineAnnouncesIt() {
        let machine = StateMachine<AppState> { $0.announcesEqual = true }
        let listener = Listener()
        machine.addDelegate(listener)
        machine.state = .ready(false)
        #expect(listener.heard.heard.map(\.new) == [.ready(false)])
    }

    /// So work and limits of the stay go on; only what is entered anew begins another.
    @Test func anEqualAssignmentThatIsAnnouncedContinuesTheStay() throws {
        let machine = StateMachine<AppState> { $0.announcesEqual = true }
        machine.state = .ready(true)
        machine.state = .ready(true)
        #expect(machine.machine.place.seq == 2 && machine.machine.place.stay == 1)
        try machine.proposeAtOnce(.ready(true), reenter: true)
        #expect(machine.machine.place.seq == 3 && machine.machine.place.stay == 3)
    }

    @Test func reenteringIsATransitionOfTheSameState() throws {
        let machine = StateMachine<AppState>()
        let listener = Listener()
        machine.addDelegate(listener)
        try machine.proposeAtOnce(.ready(false), reenter: true)
        #expect(listener.heard.heard.map(\.old) == [.ready(false)])
        #expect(listener.heard.heard.map(\.new) == [.ready(false)])
    }

    @Test func anIllegalSuccessorIsThrownWithWhatIsAllowed() {
        let machine = StateMachine<Door>(.open(1))
        let error = TransitionError<Door>(.illegal, current: machine.snapshot)
        #expect(error.allowed == [.closed, .open])
        #expect(throws: error) { try machine.assign(.locked) }
        #expect(machine.snapshot.seq == 0)
    }

    @Test func reenteringIsLegalThoughTheStateDoesNotNameItself() throws {
        let machine = StateMachine<Door>(.closed)
        try machine.proposeAtOnce(.closed, reenter: true)
        #expect(machine.snapshot.seq == 1)
    }

    @Test func anAssignmentThatExpectsAnotherSeqIsAConflict() throws {
        let machine = StateMachine<Door>()
        try machine.assign(.open(1), ifSeq: 0)
        #expect(throws: TransitionError<Door>(.conflict, current: machine.snapshot)) {
            try machine.assign(.closed, ifSeq: 0)
        }
        #expect(machine.state == .open(1))
    }

    @Test func anIllegalSuccessorAssignedAsAPropertyTrapsAndSaysWhich() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            let machine = StateMachine<Door>(.open(1))
            machine.state = .locked
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("locked was assigned to a machine that refuses it"))
        // The message lists the names that may follow.
        #expect(text.contains("the state may not follow open(1); allowed: closed, open"))
    }

    @Test func aMachineCanGoOnWhereAnotherStopped() throws {
        let before = Snapshot<Door>(seq: 41, state: .open(3), at: WallTime(microseconds: 7))
        let machine = StateMachine(resuming: before)
        #expect(machine.snapshot == before)
        try machine.assign(.closed)
        #expect(machine.snapshot.seq == 42)
    }
}

@Suite struct TransitionValueTests {
    /// The receptionist's task is a command, and its transition a memento: it can be stored,
    /// compared, and undone.
    @Test func aTransitionIsAValueThatCanBeStoredComparedAndUndone() throws {
        let machine = StateMachine<AppState>()
        let done = Heard()
        machine.addObserver { done.record($0) }
        let peer = Peer(uid: 1000, pid: 42)
        let login = TypedValue(AppState.authentication(.active))
        _ = machine.machine.enterAtOnce(Move(to: login, cause: "login", by: peer), asking: nil)
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

extension AppState: ApplicationState {
    /// The application's one machine.
    public static let machine = StateMachine<AppState>()
}

@Suite struct ApplicationStateTests {
    @Test func theStateIsReadAndSetByItsTypesName() {
        let listener = Listener()
        AppState.machine.addDelegate(listener)
        AppState.state = .authentication(.active)
        #expect(AppState.state == .authentication(.active))
        #expect(AppState.state != .authentication(.idle))
        #expect(listener.heard.heard.map(\.new) == [.authentication(.active)])
    }
}

import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

/// What programs use to test their machines.
@Suite(.bounded) struct TestKitTests {
    @Test func whatComesNextIsExpectedInOrder() async {
        let machine = StateMachine<AppState>()
        let transitions = ExpectedTransitions(of: machine)
        machine.state = .ready(true)
        machine.state = .authentication(.active)
        let taken = await transitions.next(.ready(true), .authentication(.active))
        #expect(taken.map(\.seq) == [1, 2])
        await transitions.noMore()
        machine.state = .authentication(.success)
        machine.state = .ready(false)
        #expect(await transitions.eventually(.ready(false))?.seq == 4)
        await transitions.noMore()
    }

    @Test func anotherStateIsAnIssue() async {
        let machine = StateMachine<AppState>()
        let transitions = ExpectedTransitions(of: machine)
        machine.state = .ready(true)
        await withKnownIssue {
            await transitions.next(.authentication(.active))
        } matching: {
            $0.comments.contains(
                "ready(true) was entered where authentication(phase: active) was expected"
            )
        }
    }

    @Test func whatWasNotExpectedIsAnIssue() async {
        let machine = StateMachine<AppState>(
            resuming: Snapshot(seq: 7, state: .ready(true), at: .now)
        )
        let transitions = ExpectedTransitions(of: machine)
        await transitions.noMore()
        machine.state = .authentication(.active)
        machine.state = .ready(true)
        await withKnownIssue {
            await transitions.noMore()
        } matching: {
            $0.comments.contains(
                "entered and not expected: authentication(phase: active), ready(true)"
            )
        }
        await transitions.noMore()
    }

    @Test func whatDoesNotComeIsAnIssueOnceTheTestIsCancelled() async {
        let machine = StateMachine<AppState>()
        let transitions = ExpectedTransitions(of: machine)
        await withKnownIssue {
            let waiting = Task { await transitions.eventually(.ready(true)) }
            waiting.cancel()
            #expect(await waiting.value == nil)
        } matching: {
            $0.comments.contains("ready(true) was not entered")
        }
    }

    @Test func theMovesAreTheRules() {
        let moves = Moves<Latch>(among: [.open, .shut, .locked, .gone, .open])
        #expect(moves.states == [.open, .shut, .locked, .gone])
        #expect(
            moves.all.map { [$0.old, $0.new] } == [
                [.open, .shut], [.shut, .open], [.shut, .locked], [.locked, .shut],
            ]
        )
        #expect(moves.deadEnds == [.gone])
        #expect(moves.unreachable(from: .locked) == [.gone])
    }

    @Test func theMovesAreDrawn() {
        let moves = Moves<Latch>()
        #expect(
            moves.mermaid(from: .open) == """
                stateDiagram-v2
                    state "open" as s0
                    state "shut" as s1
                    state "locked" as s2
                    state "gone" as s3
                    [*] --> s0
                    s0 --> s1
                    s1 --> s0
                    s1 --> s2
                    s2 --> s1
                    s3 --> [*]
                """
        )
        #expect(
            moves.dot() == """
                digraph "Latch" {
                    rankdir=LR;
                    node [shape=box, style=rounded];
                    s0 [label="open"];
                    s1 [label="shut"];
                    s2 [label="locked"];
                    s3 [label="gone", peripheries=2];
                    s0 -> s1;
                    s1 -> s0;
                    s1 -> s2;
                    s2 -> s1;
                }
                """
        )
    }

    @Test func whatAStateSaysDoesNotSpoilTheDrawing() {
        let moves = Moves<Named>(among: [.named("a\"b:c;"), .named(#"\"#)])
        #expect(moves.mermaid().contains(#"state "named(_a\_b_c__)" as s0"#))
        #expect(moves.dot(from: .named(#"\"#)).contains("start -> s1;"))
        #expect(moves.dot().contains(#"s1 [label="named(\"\\\\\")"]"#))
    }

    @Test func pathsTakeEachMoveThatCanBeTaken() {
        let moves = Moves<Latch>(among: [.open, .shut, .locked, .gone])
        let paths = moves.paths(from: .open)
        var taken: Set<[Latch]> = []
        for path in paths {
            #expect(path.first == .open)
            let machine = StateMachine<Latch>(path[0])
            for state in path.dropFirst() {
                taken.insert([machine.state, state])
                machine.state = state
            }
        }
        #expect(taken == Set(moves.all.map { [$0.old, $0.new] }))
        #expect(moves.paths(from: .gone) == [])
    }

    @Test func whoeverWaitsForSleepersStopsWhenItsTaskIsCancelled() async {
        let clock = ManualClock()
        let waiting = Task.immediate { await clock.sleepers(1) }
        await others()
        waiting.cancel()
        #expect(await returns { await waiting.value })
        let early = Task {
            await others()
            await clock.sleepers(1)
        }
        early.cancel()
        #expect(await returns { await early.value })
    }
}

private enum Named: EnumState {
    case named(String)

    static var initial: Named { .named("") }
    static var examples: [Named] { [.named("")] }
}

private enum Latch: EnumState, CaseIterable {
    case open, shut, locked, gone

    static let initial = Latch.open
    static var examples: [Latch] { [.open, .shut, .locked, .gone] }

    var successors: Set<Name> {
        switch self {
        case .open, .locked: ["shut"]
        case .shut: ["open", "locked"]
        case .gone: []
        }
    }
}

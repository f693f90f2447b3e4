import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import StateMachineCore

/// Drains that lose their last member while transitions are on their way, and come back.
///
/// A retired drain is not counted and must hold nobody up: neither a flush nor the report of what
/// nobody heard. One that comes back is another drain on the same context.
@Suite(.bounded) struct RetiringDrainTests {
    private static let steps = 150

    @Test(arguments: [(2, 41), (4, 42), (8, 43)] as [(Int, UInt64)])
    func drainsThatRetireAndComeBackHoldNobodyUpAndLoseNothing(setters: Int, seed: UInt64) async {
        let fates = Recorder<Fate>()
        let machine = StateMachine<AppState> {
            $0.unheard = { fates.record(Fate(seq: $0.seq, wasHeard: false)) }
        }
        let trespasses = Recorder<String>()
        let thread = NotificationThread(name: "retiring")
        let contexts = everyContext(with: thread)
        await onThreads(setters + contexts.count) { index in
            var generator = SeededGenerator(seed: seed &* 1000 &+ UInt64(index))
            guard index < contexts.count else {
                for _ in 0..<Self.steps { machine.state = .random(&generator) }
                return
            }
            // The only registration on its context: every removal retires the drain.
            for _ in 0..<Self.steps {
                let guest = Guest(fates, trespasses)
                let start: StateMachine<AppState>.Start =
                    Bool.random(using: &generator) ? .current : .next
                let registration = machine.addDelegate(guest, on: contexts[index], starting: start)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: registration.cancel()
                case 1: machine.removeDelegate(guest)
                case 2:
                    machine.state = .random(&generator)
                    registration.cancel()
                default: break  // gone with this turn, and swept by the drain itself
                }
            }
        }
        // A flush would wait in vain for a drain that was woken and lost.
        await machine.flush()
        let last = machine.snapshot.seq
        #expect(trespasses.heard.isEmpty)
        // Each was heard or reported, never both, and reported once. A flush does not wait for a
        // drain that retired while awake and still has to pass its last entries.
        let all = Set(1...last)
        let known = await fates.wait { Set($0.map(\.seq)).isSuperset(of: all) }
        let reported = known.reported
        let heard = known.filter(\.wasHeard).map(\.seq)
        #expect(Set(reported).count == reported.count)
        #expect(Set(reported).isDisjoint(with: heard))
        #expect(Set(reported).union(heard) == all)
        // The contexts are as good as new.
        let listeners = contexts.map { context in
            let listener = Listener()
            machine.addDelegate(listener, on: context)
            return listener
        }
        machine.state = machine.state == .ready(true) ? .ready(false) : .ready(true)
        await machine.flush()
        for listener in listeners { #expect(listener.seqs == [last + 1]) }
        #expect(fates.heard.reported == reported)
        thread.stop()
    }

    @Test(arguments: Place.allCases)
    func aLastMemberThatLeavesInItsCallbackRetiresTheDrainAndMayComeBack(on place: Place) async {
        let machine = StateMachine<AppState>()
        let context = place.context
        let own = Recorder<Registration>()
        let seqs = Recorder<UInt64>()
        @Sendable func register() {
            own.record(
                machine.addObserver(on: context) { transition in
                    seqs.record(transition.seq)
                    own.heard.last?.cancel()
                    register()
                }
            )
        }
        register()
        for round in 1...50 {
            machine.state = machine.state == .ready(true) ? .ready(false) : .ready(true)
            // A flush between leaving and coming back has no drain to wait for.
            await machine.flush()
            await own.wait(for: round + 1)
        }
        #expect(seqs.heard == Array(1...50))
        own.heard.last?.cancel()
    }

    @Test(arguments: [nil, 100])
    func aRetiredDrainPassesNothingThatCameAfterItsEnd(limit: Int?) async {
        let first = LogEntry(.beginning)
        let queue = DispatchQueue(label: "retired")
        let drain = Drain(on: queue, ObjectIdentifier(first), after: first, limit: limit)
        let passings = Recorder<Int>()
        var last = first
        for position in 1...10 {
            let entry = LogEntry(
                .beginning,
                deliveryCount: DeliveryCount(drains: 1) { _ in passings.record(position) }
            )
            last.append(entry)
            last = entry
            if position == 3 { drain.retire(after: 3) }
        }
        drain.wake()
        for _ in 0..<4 { await passed(queue) }
        #expect(passings.heard == [1, 2, 3])
    }
}

/// What became of a transition.
private struct Fate {
    let seq: UInt64
    /// Heard by a guest; otherwise it was reported that nobody heard it.
    let wasHeard: Bool
}

extension [Fate] {
    fileprivate var reported: [UInt64] { self.filter { !$0.wasHeard }.map(\.seq) }
}

/// A short-lived delegate that must hear its transitions without a gap.
private final class Guest: StateDelegate {
    private let fates: Recorder<Fate>
    private let trespasses: Recorder<String>
    private let own = Heard()

    init(_ fates: Recorder<Fate>, _ trespasses: Recorder<String>) {
        self.fates = fates
        self.trespasses = trespasses
    }

    func stateChanged(_ transition: Transition<AppState>) {
        let isBeginning = self.own.heard.isEmpty && transition.old == transition.new
        if let last = self.own.heard.last {
            if last.seq + 1 != transition.seq { self.trespasses.record("a gap or a repetition") }
            if last.new != transition.old { self.trespasses.record("old is not the last new") }
        }
        self.own.record(transition)
        // The state it began with does not count as heard: it was entered before.
        if !isBeginning { self.fates.record(Fate(seq: transition.seq, wasHeard: true)) }
    }
}

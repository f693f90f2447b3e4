import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import StateMachineCore

/// Lanes that lose their last member while transitions are on their way, and come back.
///
/// A retired lane is not counted and must hold nobody up: neither a flush nor the report of what
/// nobody heard. One that comes back is another lane on the same context.
@Suite(.bounded) struct RetiringLaneTests {
    private static let steps = 150

    @Test(arguments: [(2, 41), (4, 42), (8, 43)] as [(Int, UInt64)])
    func lanesThatRetireAndComeBackHoldNobodyUpAndLoseNothing(setters: Int, seed: UInt64) async {
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
            // The only registration on its context: every removal retires the lane.
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
                default: break  // gone with this turn, and swept by the lane itself
                }
            }
        }
        // A flush would wait in vain for a lane that was woken and lost.
        await machine.flush()
        let last = machine.snapshot.seq
        #expect(trespasses.heard.isEmpty)
        // Each was heard or reported, never both, and reported once. A flush does not wait for a
        // lane that retired while awake and still has to pass its last entries.
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
    func aLastMemberThatLeavesInItsCallbackRetiresTheLaneAndMayComeBack(on place: Place) async {
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
            // A flush between leaving and coming back has no lane to wait for.
            await machine.flush()
            await own.wait(for: round + 1)
        }
        #expect(seqs.heard == Array(1...50))
        own.heard.last?.cancel()
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

/// What many registrations, and a late lane, may cost; counted.
@Suite(.bounded) struct CrowdedLaneTests {
    @Test func eachRegistrationAndEachCancellingAsksItsContextAFewTimes() {
        let machine = StateMachine<AppState>()
        let asked = Counter()
        let contexts = (0..<500).map { _ in WatchedContext(asked: { asked.add(1) }) }
        let registrations = contexts.map { machine.addObserver(on: $0) { _ in } }
        #expect(asked.count <= 2 * contexts.count)
        for registration in registrations { registration.cancel() }
        #expect(asked.count <= 3 * contexts.count)
    }

    @Test(arguments: [51, 52, 53] as [UInt64])
    func whoeverLeavesTheOthersAreToldInOrderOfRegistration(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let machine = StateMachine<AppState>()
        let told = Recorder<Int>()
        var present: [(number: Int, registration: Registration)] = []
        for round in 0..<100 {
            for index in 0..<Int.random(in: 0..<8, using: &generator) {
                let number = round * 8 + index
                present.append((number, machine.addObserver { _ in told.record(number) }))
            }
            for _ in 0..<Int.random(in: 0...present.count, using: &generator) {
                let leaving = Int.random(in: present.indices, using: &generator)
                present.remove(at: leaving).registration.cancel()
            }
            let before = told.heard.count
            machine.state = .ready(round.isMultiple(of: 2))
            #expect(Array(told.heard[before...]) == present.map(\.number))
        }
    }

    @Test func whicheverLanesLeaveTheSettingThreadIsToldLast() {
        let machine = StateMachine<AppState>()
        let order = Recorder<String>()
        // A context that runs its jobs inline shows when it is woken.
        let contexts = (0..<5).map { _ in WatchedContext() }
        let immediate = machine.addObserver { _ in order.record("immediate") }
        var others = contexts.map { machine.addObserver(on: $0) { _ in order.record("other") } }
        while !others.isEmpty {
            let before = order.heard.count
            machine.state = .ready(!others.count.isMultiple(of: 2))
            #expect(Array(order.heard[before...]) == others.map { _ in "other" } + ["immediate"])
            others.remove(at: others.count / 2).cancel()
        }
        immediate.cancel()
    }

    @Test(arguments: [2, 16])
    func aStateIsNamedOnceForItsRuleAndOnceForAllThatFilterByIt(_ count: Int) {
        let machine = StateMachine<Encoded>(.even(0))
        let heard = Recorder<Encoded>()
        let registrations = (0..<count).map { _ in
            machine.addObserver(of: [.odd]) { heard.record($0.new) }
        }
        machine.state = .odd(1)
        machine.state = .even(2)
        let before = Encoded.encodings.count
        machine.state = .odd(3)
        #expect(Encoded.encodings.count == before + 2)
        #expect(heard.heard.count == 2 * count)
        for registration in registrations { registration.cancel() }
    }

    /// Its setter too, where it is told at once.
    @Test(arguments: Place.allCases)
    func withALimitADelegateThatBlocksKeepsNoMoreThanThat(on place: Place) async {
        let lives = Counter()
        var options = StateMachine<Heavy>.Options()
        options.laneLimit = 10
        let machine = StateMachine<Heavy>(.of(Payload(0, lives)), options: options)
        let (begun, gate) = (Recorder<Void>(), Gate())
        machine.addObserver(on: place.context) { transition in
            guard transition.seq == 1 else { return }
            begun.record(())
            gate.pass()
        }
        async let first: Void = onThreads(1) { _ in machine.state = .of(Payload(1, lives)) }
        await begun.wait(for: 1)
        for number in 2...1000 { machine.state = .of(Payload(number, lives)) }
        // The limit, the one being delivered and the one before it, and the current one.
        #expect(lives.count <= 10 + 4)
        gate.open()
        await first
        await machine.flush()
    }

    @Test func aRegistrationIsComparedWithNoOther() {
        let machine = StateMachine<AppState>()
        let compared = Counter()
        let objects = (0..<500).map { _ in Counter() }
        let registrations = objects.map { object in
            machine.machine.add(
                ComparedMember(object, compared),
                representing: object,
                on: .immediate
            )
        }
        #expect(compared.count == 0)
        // A delegate that is added again is compared with itself only.
        for object in objects {
            _ = machine.machine.add(
                ComparedMember(object, compared),
                representing: object,
                on: .immediate
            )
        }
        #expect(compared.count == objects.count)
        for registration in registrations { registration.cancel() }
        #expect(compared.count == objects.count)
        #expect(machine.responders(to: .ready) == 0)
    }
}

private final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { self.value.load(ordering: .sequentiallyConsistent) }

    func add(_ more: Int) { self.value.add(more, ordering: .sequentiallyConsistent) }
}

/// A state that counts how often it was encoded.
private enum Encoded: EnumState {
    case even(Int)
    case odd(Int)

    enum Name: String, CaseIterable {
        case even
        case odd
    }

    static let encodings = Counter()
    static var initial: Encoded { .even(0) }
    static var examples: [Encoded] { [.even(0), .odd(1)] }

    private enum CodingKeys: String, CodingKey {
        case even
        case odd
    }

    init(from decoder: any Decoder) throws { self = .initial }

    func encode(to encoder: any Encoder) throws {
        Self.encodings.add(1)
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .even(let number): try container.encode(number, forKey: .even)
        case .odd(let number): try container.encode(number, forKey: .odd)
        }
    }
}

/// An object that is counted while it lives.
private final class Payload: Hashable, Codable, Sendable {
    private let number: Int
    private let lives: Counter

    init(_ number: Int, _ lives: Counter) {
        self.number = number
        self.lives = lives
        lives.add(1)
    }

    convenience init(from decoder: any Decoder) throws { self.init(0, Counter()) }

    deinit { self.lives.add(-1) }

    func encode(to encoder: any Encoder) throws { try self.number.encode(to: encoder) }
    func hash(into hasher: inout Hasher) { hasher.combine(self.number) }
    static func == (left: Payload, right: Payload) -> Bool { left.number == right.number }
}

private enum Heavy: EnumState {
    case of(Payload)

    static var initial: Heavy { .of(Payload(0, Counter())) }
    static var examples: [Heavy] { [.initial] }
}

/// A member that counts how often it was compared with a delegate.
private final class ComparedMember: Member, @unchecked Sendable {
    private let compared: Counter

    init(_ object: AnyObject, _ compared: Counter) {
        self.compared = compared
        super.init(Terms(object: ObjectIdentifier(object)))
    }

    override func represents(_ object: AnyObject) -> Bool {
        self.compared.add(1)
        return self.object == ObjectIdentifier(object)
    }
}

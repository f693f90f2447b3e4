import StateMachineTesting
import Synchronization
import TestSupport
import Testing

@testable import StateMachineCore

/// What many registrations, and a late drain, may cost; counted.
@Suite(.bounded) struct ManyRegistrationsTests {
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

    @Test func whicheverDrainsLeaveTheSettingThreadIsToldLast() {
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

    @Test func whereNobodyIsRegisteredAnyMoreThePresentStateAloneIsKept() {
        let lives = Counter()
        let machine = StateMachine<Heavy>(.of(Payload(0, lives)))
        for number in 1...3 {
            let registration = machine.addObserver { _ in }
            machine.state = .of(Payload(number, lives))
            registration.cancel()
            machine.state = .of(Payload(-number, lives))
            #expect(lives.count == 1)
        }
    }

    @Test(.serialized, arguments: [2, 16])
    func aCaseIsEncodedOnceForItsNameHoweverManyFilterByIt(_ count: Int) {
        let machine = StateMachine<Encoded>(.even(0))
        let heard = Recorder<Encoded>()
        let registrations = (0..<count).map { _ in
            machine.addObserver(of: [.odd]) { heard.record($0.new) }
        }
        machine.state = .odd(1)
        machine.state = .even(2)
        let before = Encoded.encodings.count
        machine.state = .odd(3)
        #expect(Encoded.encodings.count == before)
        #expect(before == 2)
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

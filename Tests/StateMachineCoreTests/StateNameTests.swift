import StateMachineCore
import TestSupport
import Testing

@Suite struct StateNameTests {
    @Test func theNameIsFoundWithoutASwitch() {
        #expect(Kiosk.booting.name == .booting)
        #expect(Kiosk.maintenance(reason: "paper").name == .maintenance)
        #expect(Kiosk.serving(customers: 3, .large).name == .serving)
        #expect(Lamp.on.name == .on)
    }

    @Test func aStateWithoutANameOfItsOwnIsCalledAfterItsCase() async throws {
        #expect(Gate.locked(by: "me").name == "locked")
        let machine = StateMachine<Gate>()
        try await machine.assign(.locked(by: "me"))
        await #expect(throws: TransitionError<Gate>.self) {
            try await machine.assign(.locked(by: "you"))
        }
        try await machine.assign(.open)
        #expect(machine.state == .open)
    }

    @Test func everyStateMayFollowWhereTheRuleSaysAny() {
        #expect(Crane.down.successors == [.any])
        #expect(Crane.down.mayBecome(.up(3)))
        #expect(Gate.broken.mayBecome(.broken))
        #expect(!Gate.open.mayBecome(.broken))
        let machine = StateMachine<Crane>()
        machine.state = .up(3)
        #expect(machine.state == .up(3))
    }

    @Test func aCaseThatItsNamesDoNotListEndsTheProcessAndIsNamed() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            let machine = StateMachine<Kiosk>()
            machine.state = .unlisted
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Kiosk is in unlisted, which Name does not list"))
    }
}

private enum Kiosk: EnumState {
    case booting
    case maintenance(reason: String)
    case serving(customers: Int, Size)
    case unlisted

    enum Size: String, Codable { case small, large }

    enum Name: String, CaseIterable { case booting, maintenance, serving }

    static var initial: Kiosk { .booting }
    static var examples: [Kiosk] {
        [.booting, .maintenance(reason: ""), .serving(customers: 0, .small)]
    }
}

/// The names are strings, and there is a rule.
private enum Gate: EnumState {
    case open
    case locked(by: String)
    case broken

    static var initial: Gate { .open }
    static var examples: [Gate] { [.open, .locked(by: ""), .broken] }
    var successors: Set<Name> {
        switch self {
        case .open: ["locked"]
        case .locked: ["open"]
        case .broken: [.any]
        }
    }
}

/// The names are strings, and there is none.
private enum Crane: EnumState {
    case down
    case up(Int)

    static var initial: Crane { .down }
    static var examples: [Crane] { [.down, .up(0)] }
}

/// An enum with raw values, which is encoded without a key.
private enum Lamp: String, EnumState {
    case off
    case on

    enum Name: String, CaseIterable { case off, on }

    static var initial: Lamp { .off }
    static var examples: [Lamp] { [.off, .on] }
}

/// Listeners that ask for certain states hear of exactly those, whatever the type of the states.
@Suite struct StateFilterTests {
    /// Not an enum, and called after its value.
    private struct Level: MachineState {
        enum Name: String, CaseIterable { case low, high }

        var value: Int
        var name: Name { self.value < 10 ? .low : .high }
        var successors: Set<Name> { Set(Name.allCases) }
    }

    @Test func aStructIsAskedForItsNameEachTime() {
        let machine = StateMachine(resuming: Snapshot(seq: 0, state: Level(value: 0), at: .now))
        let heard = Recorder<Int>()
        machine.addObserver(of: [.high]) { heard.record($0.new.value) }
        for value in [1, 10, 2, 11, 12, 3] { machine.state = Level(value: value) }
        #expect(heard.heard == [10, 11, 12])
    }

    /// An enum that defines its names itself, not by its cases.
    private enum Lamp: MachineState {
        case lit(percent: Int)
        case dark

        enum Name: String, CaseIterable { case bright, dim, dark }

        var name: Name {
            switch self {
            case .lit(let percent): percent < 50 ? .dim : .bright
            case .dark: .dark
            }
        }
        var successors: Set<Name> { Set(Name.allCases) }
    }

    @Test func anEnumWhoseNamesAreNotItsCasesIsAskedEachTime() {
        let machine = StateMachine<Lamp>(resuming: Snapshot(seq: 0, state: .dark, at: .now))
        let heard = Recorder<Lamp>()
        machine.addObserver(of: [.dim]) { heard.record($0.new) }
        for percent in [80, 20, 90, 30] { machine.state = .lit(percent: percent) }
        #expect(heard.heard == [.lit(percent: 20), .lit(percent: 30)])
    }
}

/// States as text.
struct StateDescriptionTests {
    private enum Job: EnumState {
        case idle
        case running(String, tries: Int?)
        case failed(code: Int)
        case paused(Bool)

        static let initial = Job.idle
        static var examples: [Job] {
            [.idle, .running("", tries: nil), .failed(code: 0), .paused(false)]
        }
    }

    @Test func aStateReadsAsItIsWritten() {
        #expect("\(Job.idle)" == "idle")
        #expect("\(Job.running("a \"b\"", tries: nil))" == #"running("a \"b\"", tries: nil)"#)
        #expect("\(Job.running("c", tries: 3))" == #"running("c", tries: 3)"#)
        #expect("\(Job.failed(code: 3))" == "failed(code: 3)")
        #expect("\(Job.paused(true))" == "paused(true)")
        #expect("\(AppState.authentication(.active))" == "authentication(phase: active)")
    }
}

/// A state that is never shown to anybody: it only has to be comparable.
private enum Download: MachineState {
    case idle
    case running(percent: Int)
    case failed(any Error)

    static func == (left: Download, right: Download) -> Bool {
        switch (left, right) {
        case (.idle, .idle): true
        case (.running(let left), .running(let right)): left == right
        case (.failed(let left), .failed(let right)): "\(left)" == "\(right)"
        default: false
        }
    }
}

/// A state with names of its own, and rules that depend on its values.
private enum Lift: MachineState {
    case standing(floor: Int)
    case moving(from: Int, to: Int)

    enum Name: String { case standing, moving }

    var successors: Set<Name> { [.standing, .moving] }

    func mayBecome(_ next: Lift) -> Bool {
        switch (self, next) {
        case (.standing(let floor), .moving(let from, let to)): floor == from && from != to
        case (.moving(_, let to), .standing(let floor)): to == floor
        default: false
        }
    }
}

private struct Volume: MachineState {
    var percent: Int
}

private struct DiskFull: Error {}

@Suite(.bounded) struct PlainStateTests {
    @Test func aStateMayCarryAnyError() {
        let machine = StateMachine(Download.idle)
        machine.state = .running(percent: 40)
        machine.state = .failed(DiskFull())
        let seq = machine.snapshot.seq
        machine.state = .failed(DiskFull())
        #expect(machine.snapshot.seq == seq)
        guard case .failed(let error) = machine.state else {
            Issue.record("the machine is in \(machine.state)")
            return
        }
        #expect(error is DiskFull)
    }

    @Test func namesAreReadOffTheEnum() {
        #expect(Download.failed(DiskFull()).name == "failed")
        #expect(Download.idle.name == "idle")
        #expect(Download.running(percent: 1).successors == [.any])
        #expect(Lift.moving(from: 1, to: 2).name == .moving)
    }

    @Test func whoHearsOfSomeStatesNamesThemAsTheSourceDoes() {
        let machine = StateMachine(Download.idle)
        let heard = Lock<[String]>([])
        machine.addObserver(of: ["failed"]) { transition in
            heard.withLock { $0.append("\(transition.new.name.rawValue)") }
        }
        machine.state = .running(percent: 1)
        machine.state = .failed(DiskFull())
        #expect(heard.withLock { $0 } == ["failed"])
    }

    @Test func aRuleLooksAtTheValues() {
        let machine = StateMachine(Lift.standing(floor: 1))
        #expect(machine.can(.moving(from: 1, to: 3)))
        #expect(!machine.can(.moving(from: 2, to: 3)))
        #expect(throws: TransitionError<Lift>.self) { try machine.assign(.standing(floor: 2)) }
        machine.state = .moving(from: 1, to: 3)
        #expect(!machine.can(.standing(floor: 1)))
    }

    @Test func whatIsNoEnumIsCalledByItsType() {
        let machine = StateMachine(Volume(percent: 10))
        machine.state = Volume(percent: 20)
        #expect(machine.state.name == "Volume")
        #expect(machine.snapshot.seq == 1)
    }
}

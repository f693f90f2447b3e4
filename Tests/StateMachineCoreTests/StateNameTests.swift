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

    /// However the compiler lays it out; looked up, and known.
    @Test func theCaseIsFoundOfAnyEnum() {
        for _ in 0..<2 {
            #expect(Alone.only.name == "only")
            #expect(Tree.leaf.name == "leaf")
            #expect(Tree.node(.node(.leaf)).name == "node")
            #expect(Boxed<Int>.none.name == "none")
            #expect(Boxed<Int>.some(3).name == "some")
            #expect(Boxed<String>.some("none").name == "some")
            #expect(Boxed<String>.many(["some"]).name == "many")
            #expect(Value.number(1).name == "Value")
        }
    }

    private enum Alone: MachineState { case only }

    private indirect enum Tree: MachineState {
        case leaf
        case node(Tree)
    }

    private enum Boxed<Element: Equatable & Sendable>: MachineState {
        case none
        case some(Element)
        case many([Element])
    }

    /// No enum.
    private struct Value: MachineState {
        let number: Int
        static func number(_ number: Int) -> Value { Value(number: number) }
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

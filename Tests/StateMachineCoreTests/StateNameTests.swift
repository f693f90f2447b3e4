import StateMachineCore
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

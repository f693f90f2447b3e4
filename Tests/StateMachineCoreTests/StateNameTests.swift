import StateMachineCore
import Testing

@Suite struct StateNameTests {
    @Test func theNameIsFoundWithoutASwitch() {
        #expect(Kiosk.booting.name == .booting)
        #expect(Kiosk.maintenance(reason: "paper").name == .maintenance)
        #expect(Kiosk.serving(customers: 3, .large).name == .serving)
        #expect(Lamp.on.name == .on)
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

/// An enum with raw values, which is encoded without a key.
private enum Lamp: String, EnumState {
    case off
    case on

    enum Name: String, CaseIterable { case off, on }

    static var initial: Lamp { .off }
    static var examples: [Lamp] { [.off, .on] }
}

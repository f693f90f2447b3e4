import StateMachineRunner
import Testing

/// What commands are called.
struct CommandNameTests {
    @Test(arguments: [
        (nil, CommandName.Key.run, "statemachine-kiosk-menu-run-17"),
        ("hall", .enter(2), "statemachine-kiosk:hall-menu-enter-2-17"),
        (nil, .leave(1), "statemachine-kiosk-menu-leave-1-17"),
    ])
    func names(_ instance: String?, _ key: CommandName.Key, _ name: String) {
        let label = MachineLabel(
            machine: "kiosk",
            instance: instance,
            directory: "/run/statemachine"
        )
        #expect(CommandName(label, state: "menu", key, seq: 17).description == name)
    }
}

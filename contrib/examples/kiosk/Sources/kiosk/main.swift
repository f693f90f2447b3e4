import StateMachineCore
import StateMachineServer

enum Kiosk: MachineState {
    case booting
    case maintenance(reason: String)
    case serving(customers: Int)

    enum Name: String, CaseIterable { case booting, maintenance, serving }

    static var initial: Kiosk { .booting }
}

// Both doors, systemd's notification and the log, until SIGTERM; it takes $RUNTIME_DIRECTORY.
try await StateMachineDaemon<Kiosk>().runUntilSignalled()

import StateMachineCore
import StateMachineHistory
import StateMachineServer

enum Kiosk: EnumState {
    case booting
    case maintenance(reason: String)
    case serving(customers: Int)

    enum Name: String, CaseIterable { case booting, maintenance, serving }

    static var initial: Kiosk { .booting }
    static var examples: [Kiosk] { [.booting, .maintenance(reason: ""), .serving(customers: 0)] }
}

// Both sockets, the journal, systemd's notifications and a history on the disk, until SIGTERM; the
// sockets are in $RUNTIME_DIRECTORY.
let history = try SQLiteHistory<Kiosk>(directory: CommandLine.arguments[1])
try await StateMachineDaemon(machine: history.makeMachine()).runUntilSignalled()

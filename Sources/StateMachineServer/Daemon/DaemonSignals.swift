import ServiceLifecycle
import StateMachineCore
import UnixSignals

/// The daemon together with the signals that are no end: SIGHUP, and SIGUSR2, which is one with a
/// difference (``DaemonRun``).
struct DaemonSignals<State: MachineState & Hashable>: Service, CustomStringConvertible {
    let daemon: StateMachineDaemon<State>

    /// A service group asks for it; without one it would write down all that the daemon is made of, by reflection.
    var description: String { "statemachine" }

    func run() async throws {
        // From here on none of them is lost, and none ends the process before it is ready.
        try await self.daemon.run(heeding: UnixSignalsSequence(trapping: .sighup, .sigusr2))
    }
}

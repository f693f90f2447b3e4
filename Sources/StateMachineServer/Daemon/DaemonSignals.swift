import ServiceLifecycle
import StateMachineCore
import UnixSignals

/// Runs the daemon and traps SIGHUP and SIGUSR2 for it.
///
/// SIGHUP does not end it; SIGUSR2 does, for a restart (``DaemonRun``).
struct DaemonSignals<State: MachineState & Hashable>: Service, CustomStringConvertible {
    let daemon: StateMachineDaemon<State>

    /// A service group asks for it; otherwise it would print the whole daemon by reflection.
    var description: String { "statemachine" }

    func run() async throws {
        // From here on no signal is lost, and none ends the process before it is ready.
        try await self.daemon.run(heeding: UnixSignalsSequence(trapping: .sighup, .sigusr2))
    }
}

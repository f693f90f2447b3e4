import ServiceLifecycle
import StateMachineCore
import UnixSignals

/// What a signal asks of a daemon that runs; SIGTERM and SIGINT end it as they end any service.
enum DaemonSignal {
    /// SIGHUP: read the settings and the machine's file again.
    case reload
    /// SIGUSR2: make room for another process, which takes over the connections.
    case restart

    init?(_ signal: UnixSignal) {
        switch signal {
        case .sighup: self = .reload
        case .sigusr2: self = .restart
        default: return nil
        }
    }
}

/// Runs the daemon and traps its signals (``DaemonSignal``); ``DaemonRun`` does what they ask for.
struct DaemonSignals<State: MachineState>: Service, CustomStringConvertible {
    let daemon: StateMachineDaemon<State>

    /// A service group asks for it; otherwise it would print the whole daemon by reflection.
    var description: String { "statemachine" }

    func run() async throws {
        // From here on no signal is lost, and none ends the process before it is ready.
        try await self.daemon.run(heeding: UnixSignalsSequence(trapping: .sighup, .sigusr2))
    }
}

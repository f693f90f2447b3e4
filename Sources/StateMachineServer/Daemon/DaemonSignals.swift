import ServiceLifecycle
import StateMachineCore
package import StateMachineProtocol
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

/// A machine's new declaration, read at a reload.
package struct Redeclaration: Sendable {
    package let schema: any Schema
    /// What may not do what was meant, one line each.
    package let warnings: [String]

    package init(_ schema: any Schema, warnings: [String]) {
        self.schema = schema
        self.warnings = warnings
    }
}

/// Why a reload is refused: everything stays as it was.
package struct ReloadRefusal: Error, Sendable {
    /// One line for each thing that is wrong.
    package let problems: [String]

    package init(_ problems: [String]) {
        self.problems = problems
    }
}

/// The new declaration has states of another kind, which only a new process can serve.
///
/// Thrown by the code that reads the declaration, and then by the daemon once it has ended because
/// of it: whoever runs the daemon exits with ``exitStatus``, and starts it again.
package struct SuccessionNeeded: Error, Sendable {
    /// `EX_TEMPFAIL` of sysexits.h; the units say `RestartForceExitStatus=75`.
    package static var exitStatus: Int32 { 75 }

    package init() {}
}

public import Logging
public import ServiceLifecycle
@_exported public import ServiceLog
public import StateMachineCore
package import StateMachineProtocol
import UnixSignals

/// A machine with its doors open: clients see every change of it and, at the control door, make
/// changes.
///
/// Run it as a service of a `ServiceGroup`, or by ``runUntilSignalled()``. It tells the service
/// manager when it is ready, how it is, and when it stops.
public struct StateMachineDaemon<State: MachineState & Hashable>: Service {
    private let machine: StateMachine<State>
    private let coding: StateCoding<State>
    private let clock: any StayClock
    private let configuration: DaemonConfiguration
    private let logger: Logger
    private let redeclare: (@Sendable () throws -> Redeclaration<State>)?
    private let onReady: @Sendable () -> Void

    /// A daemon for that machine.
    ///
    /// - Parameters:
    ///   - machine: what clients see; the program may go on to set and observe it. If its write-ahead
    ///     log is a `TransitionHistory`, readers are given what is kept there.
    ///   - configuration: where and how.
    ///   - logger: told of each transition at info, and of what an administrator should know; unless
    ///     given, that is the journal if stderr leads there, else stderr.
    ///   - onReady: called once, when both doors listen.
    public init(
        machine: StateMachine<State> = StateMachine(),
        configuration: DaemonConfiguration = DaemonConfiguration(),
        logger: Logger = .service(label: "statemachine", threshold: LogThreshold(.info)),
        onReady: @escaping @Sendable () -> Void = {}
    ) where State: EnumState {
        self.init(
            machine: machine,
            coding: StateCoding(),
            configuration: configuration,
            logger: logger,
            onReady: onReady
        )
    }

    /// A daemon for a machine whose states have that form.
    ///
    /// `clock` measures the stays of a machine without a history; the others' history has one.
    ///
    /// `redeclare` is called on SIGHUP, before the limits are read: it reads what declares the machine, which
    /// is put in force if it is another. What it throws is logged, line by line if it is a ``ReloadRefusal``, and
    /// everything stays as it was. Runs on no particular thread.
    package init(
        machine: StateMachine<State>,
        coding: StateCoding<State>,
        clock: any StayClock = KernelClock(),
        configuration: DaemonConfiguration,
        logger: Logger,
        redeclare: (@Sendable () throws -> Redeclaration<State>)? = nil,
        onReady: @escaping @Sendable () -> Void = {}
    ) {
        self.machine = machine
        self.coding = coding
        self.clock = clock
        self.configuration = configuration
        self.logger = logger
        self.redeclare = redeclare
        self.onReady = onReady
    }

    /// Runs until SIGTERM or SIGINT, then ends gracefully.
    ///
    /// SIGHUP has it take in its limits anew, if the configuration says how. SIGUSR2 ends it as well,
    /// and says that another is about to take its place: connections are left with the service manager
    /// for that one to go on with. A unit that says `RestartKillSignal=SIGUSR2` has the service manager
    /// tell a restart from a stop that way.
    ///
    /// Called from the main actor, as in a `main.swift`, it leaves a daemon at rest without any timer:
    /// see ``QueueExecutor``.
    ///
    /// - Throws: `DaemonError` if it cannot start.
    public nonisolated(nonsending) func runUntilSignalled() async throws {
        let service = DaemonSignals(daemon: self)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: self.logger
            )
        )
        try await withTaskExecutorPreference(QueueExecutor(label: "statemachine.service")) {
            try await group.run()
        }
    }

    /// Opens the doors, serves until graceful shutdown, says `bye` to every client, and closes them.
    ///
    /// - Throws: `DaemonError` if it cannot start.
    public func run() async throws { try await self.run(heeding: nil) }

    func run(heeding signals: UnixSignalsSequence?) async throws {
        try await DaemonRun(
            machine: self.machine,
            coding: self.coding,
            clock: self.clock,
            configuration: self.configuration,
            logger: self.logger,
            redeclare: self.redeclare,
            onReady: self.onReady
        ).run(heeding: signals)
    }
}

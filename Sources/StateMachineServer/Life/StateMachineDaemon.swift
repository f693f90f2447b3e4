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
public struct StateMachineDaemon<State: MachineState>: Service {
    private let daemon: DaemonRun

    /// A daemon for that machine.
    ///
    /// - Parameters:
    ///   - machine: what clients see; the program may go on to set and observe it. If its
    ///     write-ahead log is a `SQLiteHistory`, readers can read what is kept there.
    ///   - configuration: where and how it serves.
    ///   - logger: gets each transition at info, and what an administrator should know; by default
    ///     it writes to the journal if stderr leads there, else to stderr.
    ///   - onReady: called once, when both doors listen.
    public init(
        machine: StateMachine<State> = StateMachine(),
        configuration: DaemonConfiguration = DaemonConfiguration(),
        logger: Logger = .service(label: "statemachine", threshold: LogThreshold(.info)),
        onReady: @escaping @Sendable () -> Void = {}
    ) where State: EnumState {
        self.init(
            machine: machine,
            past: machine.machine.log as? any PastStore,
            schema: StateCoding<State>().schema,
            configuration: configuration,
            logger: logger,
            onReady: onReady
        )
    }

    /// A daemon for a machine whose states `schema` encodes.
    ///
    /// `clock` measures the stays of a machine without a history; a history has a clock of its own.
    ///
    /// `redeclare` is called on SIGHUP, before the limits are read: it reads the machine's
    /// declaration, which is put in force if it has changed. An error is logged, line by line if it
    /// is a ``ReloadRefusal``, and everything stays as it was; only ``SuccessionNeeded`` ends the
    /// daemon, if another process can take over. Runs on no particular thread.
    ///
    /// `watcher` follows the machines that the machine's file names; without one it sees none.
    ///
    /// `sharing` is what the machine's log knows of the other hosts that share it; then it need not be known yet where the
    /// machine is.
    package init(
        machine: StateMachine<State>,
        past: (any PastStore)?,
        schema: Schema,
        clock: any StayClock = KernelClock(),
        configuration: DaemonConfiguration,
        logger: Logger,
        redeclare: (@Sendable () throws -> Redeclaration)? = nil,
        watcher: (any LinkWatcher)? = nil,
        sharing: (any MachineSharing)? = nil,
        onReady: @escaping @Sendable () -> Void = {}
    ) {
        self.daemon = DaemonRun(
            machine: machine.machine,
            past: past,
            schema: schema,
            clock: clock,
            configuration: configuration,
            logger: logger,
            redeclare: redeclare,
            watcher: watcher,
            sharing: sharing,
            onReady: onReady
        )
    }

    /// Runs until SIGTERM or SIGINT, then ends gracefully.
    ///
    /// SIGHUP makes it reload its limits, if the configuration says how. SIGUSR2 ends it too, for
    /// another daemon to take its place: connections are left with the service manager for that one
    /// to go on with. With `RestartKillSignal=SIGUSR2` in its unit, the service manager sends that
    /// for a restart, but not for a stop.
    ///
    /// Called from the main actor, as in a `main.swift`, it leaves a daemon at rest without any timer:
    /// see ``QueueExecutor``.
    ///
    /// - Throws: `DaemonError` if it cannot start.
    public nonisolated(nonsending) func runUntilSignalled() async throws {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: self.daemon,
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: self.daemon.logger
            )
        )
        try await withTaskExecutorPreference(QueueExecutor(label: "statemachine.service")) {
            try await group.run()
        }
    }

    /// Opens the doors, serves until graceful shutdown, says `bye` to every client, and closes them.
    ///
    /// - Throws: `DaemonError` if it cannot start.
    public func run() async throws { try await self.daemon.run(heeding: nil) }
}

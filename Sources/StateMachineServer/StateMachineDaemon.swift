import Dispatch
import Glibc
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle
public import StateMachineCore
import StateMachineWire
import Systemd
import UnixSignals

/// A machine with its doors open: clients see every change of it and, at the control door, make
/// changes.
///
/// Run it as a service of a `ServiceGroup`, or by ``runUntilSignalled()``. It tells the service
/// manager when it is ready, how it is, and when it stops.
public struct StateMachineDaemon<State: MachineState>: Service {
    private let machine: StateMachine<State>
    private let configuration: DaemonConfiguration
    private let logger: Logger
    private let onReady: @Sendable () -> Void

    /// A daemon for that machine.
    ///
    /// - Parameters:
    ///   - machine: what clients see; the program may go on to set and observe it. If its write-ahead
    ///     log is a `TransitionHistory`, readers are given what is kept there.
    ///   - configuration: where and how.
    ///   - logger: told of each transition at info, and of what an administrator should know.
    ///   - onReady: called once, when both doors listen.
    public init(
        machine: StateMachine<State> = StateMachine(),
        configuration: DaemonConfiguration = DaemonConfiguration(),
        logger: Logger = Logger(label: "statemachine"),
        onReady: @escaping @Sendable () -> Void = {}
    ) {
        self.machine = machine
        self.configuration = configuration
        self.logger = logger
        self.onReady = onReady
    }

    /// Runs until SIGTERM, SIGINT or SIGHUP, then ends gracefully.
    ///
    /// Called from the main actor, as in a `main.swift`, it leaves a daemon at rest without any timer:
    /// see ``QueueExecutor``.
    ///
    /// - Throws: `DaemonError` if it cannot start.
    public nonisolated(nonsending) func runUntilSignalled() async throws {
        let group = ServiceGroup(
            services: [self],
            gracefulShutdownSignals: [.sigterm, .sigint, .sighup],
            logger: self.logger
        )
        try await withTaskExecutorPreference(QueueExecutor(label: "statemachine.service")) {
            try await group.run()
        }
    }

    /// Opens the doors, serves until graceful shutdown, says `bye` to every client, and closes them.
    ///
    /// - Throws: `DaemonError` if it cannot start.
    public func run() async throws {
        let directory = try RuntimeDirectory(
            RuntimeDirectory.path(
                asked: self.configuration.runtimeDirectory,
                environment: { name in getenv(name).map { String(cString: $0) } },
                isRoot: geteuid() == 0
            )
        )
        ResourceLimits.raiseDescriptors()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await self.serve(in: directory, on: group)
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    private func serve(
        in directory: RuntimeDirectory,
        on group: MultiThreadedEventLoopGroup
    ) async throws {
        let notifier = ServiceNotifier()
        let isLogged = self.logger.logLevel <= .info
        let log = isLogged ? TransitionLogger(of: self.machine, logger: self.logger) : nil
        let loop = group.next()
        let server = try await loop.submit {
            StateServer(
                machine: TypedMachine(self.machine, on: loop),
                loop: loop,
                limits: self.configuration.limits,
                past: self.machine.history.map { history in
                    Past(history, loop: loop) { failure in
                        self.logger.error(
                            "the history cannot be read, readers begin anew",
                            metadata: ["error": "\(failure)"]
                        )
                    }
                }
            )
        }.get()

        var sockets: [(door: Door, socket: DoorSocket)] = []
        do {
            for door in Door.allCases {
                sockets.append((door, try DoorSocket(door, in: directory)))
            }
        } catch {
            for (_, socket) in sockets { socket.remove() }
            throw error
        }
        var listeners: [Listener] = []
        for (door, socket) in sockets {
            listeners.append(
                try await Listener(door, socket: socket, server: server, group: group)
            )
        }
        let status = StatusReporter(on: loop, notifier: notifier, logger: self.logger)
        try await loop.submit { server.show(to: status) }.get()
        self.machine.history?.onTrouble { why in
            if let why {
                self.logger.error("changes are refused", metadata: ["error": "\(why)"])
            } else {
                self.logger.notice("changes are accepted again")
            }
            loop.execute { status.troubled(by: why) }
        }
        self.logger.notice("ready", metadata: ["directory": "\(directory.path)"])
        await self.tell("ready") { try notifier.ready() }
        self.onReady()

        try await gracefulShutdown()

        await self.tell("stopping") { try notifier.stopping() }
        for listener in listeners { try await listener.close() }
        try await loop.flatSubmit { server.sayGoodbye() }.get()
        await self.settle()
        withExtendedLifetime(log) {}
    }

    /// Leaves the history as it should be found.
    private func settle() async {
        guard let history = self.machine.history else { return }
        let failure = await withCheckedContinuation { continuation in
            history.settle { continuation.resume(returning: $0) }
        }
        if let failure {
            self.logger.error(
                "the history was not settled; a crash of the machine may begin a new epoch",
                metadata: ["error": "\(failure)"]
            )
        }
    }

    /// Tells the service manager, and waits for it to take that for a second at the most: a manager
    /// that does not read must not keep the daemon from starting or stopping.
    private func tell(_ what: String, _ body: @escaping @Sendable () throws -> Void) async {
        let (told, isTold) = AsyncStream.makeStream(of: Void.self)
        let logger = self.logger
        DispatchQueue(label: "statemachine.notify").async {
            do {
                try body()
            } catch {
                logger.warning(
                    "the service manager was not told, going on",
                    metadata: ["what": "\(what)", "error": "\(error)"]
                )
            }
            isTold.finish()
        }
        DispatchQueue(label: "statemachine.patience").asyncAfter(deadline: .now() + .seconds(1)) {
            isTold.finish()
        }
        for await _ in told {}
    }
}

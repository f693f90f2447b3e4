import Glibc
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import ServiceLog
import StateMachineCore
import StateMachineProtocol
import Systemd
import UnixSignals

/// One run of a daemon, from opening its doors to closing them.
///
/// As a service of a group it also heeds SIGHUP and SIGUSR2.
struct DaemonRun: Service, CustomStringConvertible {
    let machine: Machine
    /// What the machine's log has recorded, if that can be read back.
    let past: (any PastStore)?
    /// The same where it is this host's own log, which keeps holds, guards and declarations, too.
    var ownPast: (any PastStore)? { self.sharing == nil ? self.past : nil }
    let schema: Schema
    let clock: any StayClock
    let configuration: DaemonConfiguration
    let logger: Logger
    let redeclare: (@Sendable () throws -> Redeclaration)?
    /// Follows the machines that this one sees; nil where there are none.
    let watcher: (any LinkWatcher)?
    /// What is known of the other hosts that share the machine; nil if it is this one's alone.
    let sharing: (any MachineSharing)?
    let onReady: @Sendable () -> Void
    var manager: ServiceManager { ServiceManager(logger: self.logger) }

    /// How it ends.
    private enum End: Equatable {
        case stop
        /// Another daemon is about to take this one's place.
        case restart
        /// The same, but nobody has been told yet: ``SuccessionNeeded`` is thrown.
        case succession
        /// It cannot run like this, and why: `DaemonError` is thrown.
        case failure(String)
    }

    /// A service group asks for it; otherwise it would print the whole daemon by reflection.
    var description: String { "statemachine" }

    func run() async throws {
        // From here on no signal is lost, and none ends the process before it is ready.
        try await self.run(heeding: UnixSignalsSequence(trapping: .sighup, .sigusr2))
    }

    /// Serves until graceful shutdown, or until a signal ends it.
    ///
    /// - Throws: `DaemonError` if it cannot start.
    func run(heeding signals: UnixSignalsSequence?) async throws {
        let handed = HandedDescriptor.takeAll()
        do {
            try await self.start(with: handed, heeding: signals)
        } catch let error as DaemonError {
            await error.tell(self.logger, at: handed)
            throw error
        }
    }

    private func start(
        with handed: [HandedDescriptor],
        heeding signals: UnixSignalsSequence?
    ) async throws {
        if let problem = self.schema.problems.first { throw DaemonError(lasting: problem) }
        let handed = try HandedSockets(handed)
        let directory = self.configuration.runtimeDirectory
        let doors = try OpenDoors(handed.doors, runtimeDirectory: directory)
        ResourceLimits.raiseDescriptors()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let taken = InheritedConnections(handed, logger: self.logger)
        try await Self.finally(group.shutdownGracefully) {
            let server = try await self.makeServer(on: group, continuing: taken.session)
            let end = {
                let tasks = try await server.loop.submit {
                    server.stop()
                    return server.links?.tasks ?? []
                }.get()
                // They call the loop, which is about to end.
                for task in tasks { await task.value }
            }
            try await Self.finally(end) {
                try await self.serve(
                    server,
                    at: doors,
                    continuing: taken,
                    on: group,
                    heeding: signals
                )
            }
            await server.past.disk?.finish()
        }
    }

    /// Runs `body`, and then `end`, however that went.
    private static func finally(
        _ end: () async throws -> Void,
        after body: () async throws -> Void
    ) async throws {
        do {
            try await body()
        } catch {
            try await end()
            throw error
        }
        try await end()
    }

    private func makeServer(
        on group: MultiThreadedEventLoopGroup,
        continuing session: SharedSession?
    ) async throws -> StateServer {
        let loop = group.next()
        let bell = try await LoopBell.make(on: group)
        let slots = ResourceLimits.clients
        self.warn(of: self.configuration.limits, within: slots)
        return try await loop.submit {
            let server = StateServer(
                machine: self.machine,
                schema: self.schema,
                loop: loop,
                limits: self.configuration.limits.fitting(connections: slots),
                slots: slots,
                disk: self.past.map { history in
                    HistoryReader(history, loop: loop) { self.log(trouble: $0) }
                },
                bell: bell.value,
                clock: self.clock,
                watcher: self.watcher,
                sharing: self.sharing
            )
            // Not before: where the machine arrives is to be heard.
            self.sharing?.begin(moving: self.machine, continuing: session)
            return server
        }.get()
    }

    private func serve(
        _ server: StateServer,
        at doors: OpenDoors,
        continuing taken: InheritedConnections,
        on group: MultiThreadedEventLoopGroup,
        heeding signals: UnixSignalsSequence?
    ) async throws {
        let notifier = self.manager.notifier
        let loop = server.loop
        try await loop.submit {
            server.log(to: TransitionLogger(self.logger, showing: self.schema))
        }.get()
        // No client is here yet, so nobody has a say in the move that a new boot makes.
        try await self.boot(server)
        try await loop.submit { [logger] in
            server.beginSeeing { logger.log($1, of: $0) }
        }.get()
        try await self.resume(with: taken, at: server)
        if taken.count > 0 { try await self.place(server, for: taken) }
        try await self.take(taken, to: server, on: group)
        try await loop.submit { [logger] in
            server.voters.announce { logger.log($0, of: $1) }
            for voter in server.voters.void { logger.log(void: voter) }
        }.get()
        var listeners: [Listener] = []
        for (door, socket) in doors.sockets {
            listeners.append(try await Listener(door, socket: socket, server: server, group: group))
        }
        let watchdog = WatchdogInterval.requested.map {
            WatchdogProbe(of: server, within: $0, logger: self.logger) { try notifier.watchdog() }
        }
        let status = StatusReporter(
            notifier: notifier,
            logger: self.logger,
            showing: self.schema
        )
        // A client may ask as soon as the sockets listen.
        let wishes = AsyncStream.makeStream(of: Wish.self)
        let isHeeding = signals != nil || self.redeclare != nil
        try await loop.submit {
            if isHeeding {
                server.reload = { wishes.continuation.yield(.reload(telling: $0)) }
            }
            server.show(to: status)
            server.beginMoving { [logger] suspension in
                logger.log(suspension)
                status.suspended(suspension)
            }
        }.get()
        // Not through `self`: it holds the machine, and that the history; none would ever be freed.
        self.past?.onTrouble { [logger, weak server] work, why in
            logger.log(why, of: work)
            switch work {
            case .commits:
                status.troubled(by: why)
                guard let server else { return }
                server.loop.execute { server.trouble = why }
            case .caching: status.lacking(because: why)
            case .pruning, .tidying: break
            }
        }
        // Not through `self`, as above.
        self.sharing?.onNews { [logger, weak server] news in
            logger.log(news)
            if case .over(let why) = news { wishes.continuation.yield(.end(because: why)) }
            guard let server else { return }
            server.loop.execute { server.happened(news) }
        }
        let beginning = try await loop.submit { server.beginning }.get()
        self.logger.notice(
            "\(CataloguedMessage.ready.rawValue)",
            metadata: beginning.merging(["directory": "\(doors.directory)"]) { $1 }
        )
        await self.manager.tell("ready") { try $0.ready() }
        self.onReady()

        let reload = Reload(run: self, server: server, status: status)
        var end = End.stop
        if isHeeding {
            end = await self.untilEnd(heeding: signals, wishes) { await reload.perform() }
        } else {
            try await gracefulShutdown()
        }

        await self.manager.tell("stopping") { try $0.stopping() }
        for listener in listeners { try await listener.close() }
        switch end {
        case .stop, .failure:
            try await loop.flatSubmit { server.sayGoodbye(.shutdown) }.get()
        case .restart, .succession: try await self.handOverConnections(of: server)
        }
        // Holds and guards that end with their connections are answered on the loop, which ends next.
        try await loop.flatSubmit {
            let promise = loop.makePromise(of: Void.self)
            server.voters.whenSettled { promise.succeed() }
            return promise.futureResult
        }.get()
        await self.settleHistory()
        watchdog?.cancel()
        try await server.finishLog()
        switch end {
        case .stop, .restart: break
        case .succession: throw SuccessionNeeded()
        case .failure(let why): throw DaemonError(lasting: why)
        }
    }

    /// Says if clients are turned away before their limit is reached, as descriptors are few.
    func warn(of limits: ServerLimits, within slots: Int) {
        guard limits.connections > slots else { return }
        self.logger.warning(
            "there are too few file descriptors for max-connections, raise LimitNOFILE= or lower max-connections",
            metadata: ["connections": "\(slots)", "max-connections": "\(limits.connections)"]
        )
    }

    private func boot(_ server: StateServer) async throws {
        try await server.loop.flatSubmit {
            let promise = server.loop.makePromise(of: Void.self)
            server.boot {
                // The log shows it before the daemon is ready.
                server.tellLog()
                promise.succeed()
            }
            return promise.futureResult
        }.get()
    }

    /// How long clients of the last process wait until it is known where a shared machine is.
    ///
    /// 10 s: a leader is elected in less, and the service manager waits for nine times that.
    private static let longestPlacing = TimeAmount.seconds(10)

    /// Waits until it is known where a machine is that others share: where clients of the last process go on follows from that.
    ///
    /// Where this host's disk is behind them that is not where the disk says.
    ///
    /// - Throws: `DaemonError` if that takes too long; the clients are kept for the next process.
    private func place(_ server: StateServer, for taken: InheritedConnections) async throws {
        let isPlaced = try await server.loop.flatSubmit { () -> EventLoopFuture<Bool> in
            guard let sharing = server.sharing else { return server.loop.makeSucceededFuture(true) }
            let promise = server.loop.makePromise(of: Bool.self)
            var isOver = false
            func end() {
                if !exchange(&isOver, with: true) { promise.succeed(sharing.isPlaced) }
            }
            server.loop.assumeIsolated().scheduleTask(in: Self.longestPlacing) { end() }
            sharing.whenPlaced {
                if taken.canContinue(at: server) { end() } else { sharing.whenUp { end() } }
            }
            return promise.futureResult
        }.get()
        guard isPlaced else {
            throw DaemonError("the engine has not said where the machine is; can it be reached?")
        }
    }

    /// Takes over the last process's numbers, holds and guards, all of which are in force before
    /// anything is decided.
    private func resume(with taken: InheritedConnections, at server: StateServer) async throws {
        let past = self.ownPast
        let left = past?.beginning.voters ?? taken.kept
        try await server.loop.submit {
            server.voters.resume(
                with: left,
                after: taken.lastNumber,
                keptIn: past,
                graceMs: server.limits.graceMs
            )
        }.get()
    }

    private func log(trouble failure: HistoryFailure?) {
        if let failure {
            self.logger.error(
                "old changes cannot be read from the history, refusing requests for them alone",
                metadata: ["error": "\(failure)"]
            )
        } else {
            self.logger.notice("old changes can be read again")
        }
    }

    /// Settles the history for the next start.
    private func settleHistory() async {
        guard let log = self.machine.log else { return }
        let failure = await withCheckedContinuation { continuation in
            log.settle { continuation.resume(returning: $0) }
        }
        if let failure {
            self.logger.error(
                "the history could not be synced to the disk at the end; check the disk: a power cut now may lose the newest changes",
                metadata: ["error": "\(failure)"]
            )
        }
    }

    /// What is asked of a daemon that runs; SIGTERM and SIGINT end it as they end any service.
    private enum Wish {
        /// SIGUSR2: make room for another process, which takes over the connections.
        case restart
        /// SIGHUP, or a client: read the settings and the machine's file again, and tell how that went.
        case reload(telling: @Sendable (ReloadResult) -> Void)
        /// It cannot run like this.
        case end(because: String)
    }

    /// Waits for the end, and meanwhile does what signals and clients ask for.
    private func untilEnd(
        heeding signals: UnixSignalsSequence?,
        _ wishes: (stream: AsyncStream<Wish>, continuation: AsyncStream<Wish>.Continuation),
        reload: () async -> ReloadResult
    ) async -> End {
        // By hand, not by `cancelOnGracefulShutdown`, which makes a task of its own on Dispatch's
        // global queues: see `QueueExecutor`.
        let (heard, hearing) = wishes
        return await withTaskGroup { group in
            group.addTask {
                guard let signals else { return }
                for await signal in signals {
                    hearing.yield(signal == .sigusr2 ? .restart : .reload { _ in })
                }
            }
            group.addTask {
                // Throws if it is cancelled, which is the end as well.
                try? await gracefulShutdown()
                hearing.finish()
            }
            defer { group.cancelAll() }
            for await wish in heard {
                switch wish {
                case .restart: return .restart
                case .end(let why): return .failure(why)
                case .reload(let tell):
                    let result = await reload()
                    tell(result)
                    if result.needsSuccessor { return .succession }
                }
            }
            return .stop
        }
    }
}

import FoundationEssentials
import Glibc
package import Logging
package import StateMachineCore
package import StateMachineHistory
package import StateMachineProtocol
package import StateMachineServer

/// What a daemon is started with, once all of it is known.
package struct DaemonStart: Sendable {
    package let settings: Settings
    package let logger: Logger
    private let configuration: DaemonConfiguration

    init(_ settings: Settings, _ configuration: DaemonConfiguration, _ logger: Logger) {
        self.settings = settings
        self.configuration = configuration
        self.logger = logger
    }

    /// Serves a machine with these states until a signal ends it.
    ///
    /// - Parameters:
    ///   - schema: the states.
    ///   - make: makes the machine that goes on at a place, with a history if there is one.
    ///   - prepare: is given the machine before anybody can connect.
    ///   - redeclare: reads the machine's declaration again; see `StateMachineDaemon`.
    ///   - watcher: follows the machines that the declaration names.
    /// - Throws: what keeps it from starting.
    @MainActor
    package func serve<State>(
        _ schema: Schema,
        making make: (Place, History?) -> StateMachine<State>,
        prepare: @MainActor (StateMachine<State>) async throws -> Void = { _ in },
        redeclare: (@Sendable () throws -> Redeclaration)? = nil,
        watcher: (any LinkWatcher)? = nil
    ) async throws {
        let history = try self.history(schema)
        let beginning = Place(seq: 0, value: schema.initial, at: .now, stay: 0)
        let machine = make(history?.place ?? beginning, history)
        try await prepare(machine)
        let daemon = StateMachineDaemon(
            machine: machine,
            // A program may have made a machine without it.
            past: machine.machine.log === history ? history : nil,
            schema: schema,
            configuration: self.configuration,
            logger: self.logger,
            redeclare: redeclare,
            watcher: watcher
        )
        try await daemon.runUntilSignalled()
    }

    /// Serves a machine that other hosts share until a signal ends it; it need not be known yet where it is.
    ///
    /// - Parameters:
    ///   - schema: the states.
    ///   - make: makes the machine, of which its log says where it is; given whether that is known.
    ///   - log: that.
    ///   - redeclare: reads the machine's declaration again; see `StateMachineDaemon`.
    /// - Throws: what keeps it from starting.
    @MainActor
    package func serve<State>(
        _ schema: Schema,
        making make: (Place, any Recording, _ isPlaced: Bool) -> StateMachine<State>,
        sharing log: any Recording & MachineSharing,
        redeclare: @escaping @Sendable () throws -> Redeclaration
    ) async throws {
        let beginning = Place(seq: 0, value: schema.initial, at: .now, stay: 0)
        let machine = make(log.place ?? beginning, log, log.place != nil)
        let daemon = StateMachineDaemon(
            machine: machine,
            past: log.past,
            schema: schema,
            configuration: self.configuration,
            logger: self.logger,
            redeclare: redeclare,
            sharing: log
        )
        try await daemon.runUntilSignalled()
    }

    /// The runtime directory, as far as it is known before the doors open.
    package var runtimeDirectory: String? {
        self.settings.text(.runtimeDirectory)
            ?? RuntimeDirectory.byDefault(
                environment: { ProcessInfo.processInfo.environment[$0] },
                isRoot: geteuid() == 0
            )?.path
    }

    /// Where the history is; nil if the settings ask for none.
    private var historyDirectory: String? {
        self.settings.stateDirectory(ProcessInfo.processInfo.environment)
    }

    /// The history as the last daemon left it; nil if the settings ask for none.
    private func history(_ schema: Schema) throws -> History? {
        guard let directory = self.historyDirectory else {
            self.logger.info("ephemeral: the state is lost when the daemon ends")
            return nil
        }
        let history = try StartTimeout.extended {
            try History(
                directory: directory,
                schema: schema,
                options: self.settings.historyOptions,
                boot: BootID.current
            )
        }
        if let loss = history.loss { self.log(loss) }
        if let carriedOver = history.carriedOver { self.logger.log(carriedOver) }
        return history
    }

    /// What the last daemon of this host has kept of a machine that others share; nil if the settings ask for nothing.
    package func sharedHistory(_ schema: Schema) throws -> SharedHistory? {
        guard let directory = self.historyDirectory else { return nil }
        let history = try StartTimeout.extended {
            try SharedHistory(
                directory: directory,
                schema: schema,
                options: self.settings.historyOptions,
                boot: BootID.current
            )
        }
        if let aside = history.aside {
            self.logger.warning(
                aside.isDamaged
                    ? "this host's history was corrupt and has been renamed, beginning a new one"
                    : "the history is of a machine that was this host's alone and has been renamed, beginning a new one",
                metadata: ["file": "\(aside.file)"]
            )
        }
        return history
    }

    private func log(_ loss: HistoryLoss) {
        let (message, file): (Logger.Message, String) =
            switch loss {
            case .corrupt(let setAside):
                (
                    "the history was corrupt and has been renamed, beginning a new one: earlier states, changes, holds and guards are not in it",
                    setAside
                )
            case .missing(let database):
                ("the history is gone, beginning a new one", database)
            case .restored(let database):
                (
                    "the history is an older copy or another one, continuing it with a new epoch: earlier cursors are not valid",
                    database
                )
            }
        self.logger.warning(message, metadata: ["file": "\(file)"])
    }
}

import FoundationEssentials
package import Logging
package import StateMachineCore
import StateMachineHistory
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

    /// Makes a machine that resumes from a snapshot.
    package typealias MakeMachine<State: MachineState & Hashable> = (
        Snapshot<State>, StateMachine<State>.Options
    ) -> StateMachine<State>

    /// Serves a machine with these states until a signal ends it.
    ///
    /// - Parameters:
    ///   - coding: the coding of the states.
    ///   - make: makes the machine, where the type is known, so that the machine is specialised for
    ///     it.
    ///   - prepare: is given the machine before anybody can connect.
    ///   - redeclare: reads the machine's declaration anew; see `StateMachineDaemon`.
    /// - Throws: what keeps it from starting.
    @MainActor
    package func serve<State: MachineState & Hashable>(
        _ coding: StateCoding<State>,
        making make: MakeMachine<State>,
        prepare: @MainActor (StateMachine<State>) async throws -> Void = { _ in },
        redeclare: (@Sendable () throws -> Redeclaration<State>)? = nil
    ) async throws {
        let machine = try self.machine(coding, make)
        try await prepare(machine)
        let daemon = StateMachineDaemon(
            machine: machine,
            coding: coding,
            configuration: self.configuration,
            logger: self.logger,
            redeclare: redeclare
        )
        try await daemon.runUntilSignalled()
    }

    /// The machine as the last daemon left it, or a new one.
    private func machine<State: MachineState & Hashable>(
        _ coding: StateCoding<State>,
        _ make: MakeMachine<State>
    ) throws -> StateMachine<State> {
        let environment = ProcessInfo.processInfo.environment
        guard let directory = self.settings.stateDirectory(environment) else {
            self.logger.info("ephemeral: the state lives as long as the daemon")
            return make(Snapshot(seq: 0, state: coding.initial, at: .now), .init())
        }
        let history = try StartTimeout.extended {
            try SQLiteHistory(
                directory: directory,
                coding: coding,
                options: self.settings.historyOptions
            )
        }
        if let loss = history.loss { self.log(loss) }
        if let carriedOver = history.carriedOver { self.logger.log(carriedOver) }
        return make(history.snapshot, history.options())
    }

    private func log(_ loss: HistoryLoss) {
        switch loss {
        case .corrupt(let setAside):
            self.logger.warning(
                "the history was corrupt and is set aside, beginning a new epoch",
                metadata: ["file": "\(setAside)"]
            )
        case .missing(let database):
            self.logger.warning(
                "the history is gone, beginning a new epoch",
                metadata: ["file": "\(database)"]
            )
        case .restored(let database):
            self.logger.warning(
                "the history is an older copy or another one, beginning a new epoch",
                metadata: ["file": "\(database)"]
            )
        }
    }
}

import Glibc
import Logging
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import StateMachineRunner
import Systemd

extension RunnerCommand {
    /// Runs until there is nothing to be run, or a signal ends it.
    ///
    /// - Throws: `RunnerError`, also if nothing says where the daemon is.
    func serve(
        heeding signals: AsyncStream<RunnerSignal>,
        logger: Logger
    ) async throws(RunnerError) {
        let directory = try self.directory()
        let path = self.stateDirectory ?? Self.variable("STATE_DIRECTORY")
        let memory = try path.map { (path) throws(RunnerError) in try MemoryDirectory(path) }
        let source = DeclarationSource(
            path: self.machine,
            instance: self.instance,
            isRemembered: memory != nil
        )
        // Before the file is read: children that a killed runner left end even if the file is
        // refused.
        let host = try await self.host(memory, logger: logger)
        guard let declaration = try source.declaration() else {
            logger.notice("the file declares no command, ending")
            return
        }
        let label = MachineLabel(
            machine: declaration.machine ?? self.instance ?? "statemachine",
            instance: self.instance,
            directory: directory.path
        )
        let configuration = RunnerConfiguration(
            directory: directory,
            label: label,
            source: source,
            boot: BootID.current ?? ""
        )
        let runner = Runner(
            configuration,
            declaration: declaration,
            host: host,
            memory: memory,
            logger: logger
        )
        guard declaration.hasCommands else {
            logger.notice("the file declares no command, ending")
            return try await runner.endLeftovers()
        }
        if memory == nil {
            logger.notice(
                "the runner remembers nothing over a restart, and after kill -9 begins a second time what still runs; give a --state-directory"
            )
        }
        if !host.outlivesRunner {
            logger.notice(
                "commands run as children: they end with this process, and have no cgroup, journal or properties of their own"
            )
        }
        do throws(NotifyError) {
            try ServiceNotifier().ready()
        } catch {
            logger.debug(
                "the service manager could not be notified",
                metadata: ["error": "\(error)"]
            )
        }
        try await runner.run(heeding: signals)
    }

    /// A host of units if systemd runs, else of children.
    private func host(
        _ memory: MemoryDirectory?,
        logger: Logger
    ) async throws(RunnerError) -> any CommandHost {
        // sd_booted(3).
        let isBooted = access("/run/systemd/system", F_OK) == 0
        let manager: ManagerAddress? = geteuid() == 0 ? .system : .user
        if !self.children, isBooted, let manager, manager.isThere {
            return UnitHost(UnitManager(manager), log: logger)
        }
        return try await ChildHost(remembering: memory, log: logger)
    }

    private func directory() throws(RunnerError) -> RuntimeDirectory {
        if let path = self.runtimeDirectory { return RuntimeDirectory(path) }
        if let named = RuntimeDirectory.named(Self.variable) { return named }
        let directory = geteuid() == 0 ? .system : RuntimeDirectory.ofUser(Self.variable)
        guard let directory else {
            throw RunnerError(
                "no runtime directory is set; give --runtime-directory, or set "
                    + "STATEMACHINE_RUNTIME_DIRECTORY or XDG_RUNTIME_DIR"
            )
        }
        guard let instance else { return directory }
        return RuntimeDirectory("\(directory.path)/\(instance)")
    }

    /// A variable of the environment; one that is empty is not set.
    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

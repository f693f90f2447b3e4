import Logging
package import StateMachineCore
import StateMachineDeclaration
package import StateMachineEmbedding
import StateMachineLinks
package import StateMachineProtocol
import StateMachineServer

/// The daemon of a machine that a file declares, or of the stock states: what its programs have in common.
package struct DeclaredDaemon: Sendable {
    /// Reads the settings again.
    private let reloaded: @Sendable () throws -> Settings

    /// `reloaded` reads the settings again, and throws `ReloadRefusal`.
    package init(reloaded: @escaping @Sendable () throws -> Settings) { self.reloaded = reloaded }

    /// Checks what is read besides the settings; returns warnings.
    package static func check(_ settings: Settings) throws(ConfigurationError) -> [String] {
        try DeclaredMachine.read(settings)?.warnings ?? []
    }

    /// Serves a machine that is this host's alone until a signal ends it.
    ///
    /// - Throws: what keeps it from starting.
    @MainActor
    package func serve(_ start: DaemonStart) async throws {
        if let declared = try DeclaredMachine.read(start.settings) {
            for warning in declared.warnings { start.logger.warning("\(warning)") }
            let watcher = LinkedMachines(
                besides: start.runtimeDirectory ?? "/",
                of: start.settings.text(.instance)
            )
            do {
                try await start.serve(
                    declared.schema,
                    making: { StateMachine<DeclaredState>(resuming: $0, recording: $1) },
                    redeclare: {
                        let declared = try DeclaredMachine.reread(self.reloaded())
                        return Redeclaration(declared.schema, warnings: declared.warnings)
                    },
                    watcher: watcher
                )
            } catch {
                await watcher.end()
                throw error
            }
            await watcher.end()
        } else {
            let schema = StateCoding<AppState>().schema
            try await start.serve(
                schema,
                making: { StateMachine<AppState>(resuming: $0, recording: $1) },
                redeclare: {
                    if try DeclaredMachine.read(self.reloaded()) != nil { throw SuccessionNeeded() }
                    return Redeclaration(schema, warnings: [])
                }
            )
        }
    }

    /// Where a machine that other hosts share records its changes.
    package struct Engine {
        let recording: any Recording & MachineSharing
        /// Takes what has changed of the settings; throws `ReloadRefusal` if that is no good.
        let reload: @Sendable (Settings) throws -> Void

        package init(
            _ recording: any Recording & MachineSharing,
            reload: @escaping @Sendable (Settings) throws -> Void
        ) {
            (self.recording, self.reload) = (recording, reload)
        }
    }

    /// Serves a machine that other hosts share until a signal ends it.
    ///
    /// - Parameters:
    ///   - start: what is known at the start.
    ///   - engine: is given the machine's states, and makes where it records its changes.
    /// - Throws: what keeps it from starting.
    @MainActor
    package func serve(
        _ start: DaemonStart,
        sharedBy engine: (Schema) throws -> Engine
    ) async throws {
        if let declared = try DeclaredMachine.read(start.settings) {
            for warning in declared.warnings + declared.sharingWarnings {
                start.logger.warning("\(warning)")
            }
            guard declared.sharingObjections.isEmpty else {
                throw ConfigurationError(declared.sharingObjections)
            }
            let schema = declared.schema
            let engine = try engine(schema)
            try await start.serve(
                schema,
                making: {
                    StateMachine<DeclaredState>(resuming: $0, recording: $1, isPlaced: $2)
                },
                sharing: engine.recording,
                redeclare: { [reload = engine.reload] in
                    let settings = try self.reloaded()
                    let declared = try DeclaredMachine.reread(settings)
                    let isSame = declared.schema.declaration?.hash == schema.declaration?.hash
                    guard isSame else { throw Self.restartNeeded }
                    try reload(settings)
                    return Redeclaration(
                        schema,
                        warnings: declared.warnings + declared.sharingWarnings
                    )
                }
            )
        } else {
            let schema = StateCoding<AppState>().schema
            let engine = try engine(schema)
            try await start.serve(
                schema,
                making: { StateMachine<AppState>(resuming: $0, recording: $1, isPlaced: $2) },
                sharing: engine.recording,
                redeclare: { [reload = engine.reload] in
                    let settings = try self.reloaded()
                    guard try DeclaredMachine.read(settings) == nil else {
                        throw Self.restartNeeded
                    }
                    try reload(settings)
                    return Redeclaration(schema, warnings: [])
                }
            )
        }
    }

    private static let restartNeeded = ReloadRefusal([
        "the machine's file has changed, and several hosts share the machine; restart the daemon of each with the new file"
    ])
}

import ArgumentParser
import DeclaredDaemon
import Logging
import StateMachineCore
import StateMachineEmbedding
import StateMachineProtocol

#if Cluster
import NIOCore
import NIOPosix
import StateMachineEtcd
#endif

/// The daemon for a machine that a file declares, or for the stock states, which several hosts share.
@main
struct ClusterCommand: DaemonCommand {
    static let front = ProgramProfile(
        "statemachine-cluster",
        configuredIn: "statemachine",
        settings: Setting.allCases
    )

    static let configuration = CommandConfiguration(
        commandName: "statemachine-cluster",
        abstract: "Is statemachine, for a state that several hosts share by etcd.",
        discussion: Self.discussion,
        version: StateMachineVersion.current
    )

    @Option(configurationOf: Self.front)
    var config: String?

    @Option(.machine) var machine: String?
    @Option(.instance) var instance: String?

    @OptionGroup(title: "Sharing")
    var sharing: SharingFlags

    @OptionGroup var flags: DaemonFlags

    var own: [Setting: SettingValue] {
        self.sharing.given.merging(
            [Setting.machine: self.machine, .instance: self.instance]
                .compactMapValues { $0.map { .text($0) } }
        ) { $1 }
    }

    static func main() { self.live() }

    func check(_ settings: Settings) throws(ConfigurationError) -> [String] {
        let declared = try DeclaredMachine.read(settings)
        if try Self.isShared(settings) {
            #if Cluster
            _ = try EngineSettings.read(settings, of: declared?.schema.declaration?.machine)
            #endif
            let objections = declared?.sharingObjections ?? []
            guard objections.isEmpty else { throw ConfigurationError(objections) }
            return declared.map { $0.warnings + $0.sharingWarnings } ?? []
        }
        return declared?.warnings ?? []
    }

    func serve(_ start: DaemonStart) async throws {
        let daemon = DeclaredDaemon { try self.reloaded() }
        guard try Self.isShared(start.settings) else { return try await daemon.serve(start) }
        #if Cluster
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await daemon.serve(start) { schema in
                let settings = try EngineSettings.read(
                    start.settings,
                    of: schema.declaration?.machine
                )
                start.logger.notice(
                    "the machine is shared by several hosts",
                    metadata: [
                        "machine": "\(settings.machine)", "host": "\(settings.host)",
                        "engine":
                            "\(settings.endpoints.map(\.description).joined(separator: ", "))",
                    ]
                )
                let recording = SharedRecording(
                    settings,
                    schema,
                    keeping: try start.sharedHistory(schema),
                    on: group.next()
                )
                return DeclaredDaemon.Engine(recording) { reloaded in
                    do throws(ConfigurationError) {
                        let settings = try EngineSettings.read(
                            reloaded,
                            of: schema.declaration?.machine
                        )
                        // Files of the same names may have others' content by now.
                        if let credentials = settings.credentials { recording.use(credentials) }
                    } catch {
                        throw ReloadRefusal(error.problems)
                    }
                }
            }
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
        #endif
    }

    /// Whether other hosts share the machine, by the settings.
    ///
    /// - Throws: `ConfigurationError` if that cannot be, as the program was built without the client of etcd, or as it is said how
    ///   they share it and not where etcd is.
    private static func isShared(_ settings: Settings) throws(ConfigurationError) -> Bool {
        guard settings.text(.engineEndpoints) != nil else {
            let idle = Setting.ofSharing.filter { settings.isGiven($0) }
            guard idle.isEmpty else {
                throw ConfigurationError(
                    idle.map {
                        "\(settings.named($0)) is set, and engine-endpoints is not, so that no host shares the machine; "
                            + "set that too, or remove it"
                    }
                )
            }
            return false
        }
        #if Cluster
        return true
        #else
        throw ConfigurationError(
            "this statemachine-cluster was built without the client of etcd; build it with --traits Cluster"
        )
        #endif
    }
}

/// What only a machine has that several hosts share, on the command line.
struct SharingFlags: ParsableArguments {
    @Option(.engineEndpoints) var engineEndpoints: String?
    @Option(.engineCA) var engineCA: String?
    @Option(.engineCertificate) var engineCertificate: String?
    @Option(.engineKey) var engineKey: String?
    @Option(.engineMachine) var engineMachine: String?
    @Flag(help: "Talk to etcd without encryption, also to other hosts.") var engineInsecure = false
    @Option(.host) var host: String?
    @Option(.sessionTTL) var sessionTTL: String?
    @Option(.checkInterval) var checkInterval: String?
    @Option(.staleAfter) var staleAfter: String?
    @Option(.callTimeout) var callTimeout: String?
    @Option(.setTimeout) var setTimeout: String?

    /// Those that are given.
    var given: [Setting: SettingValue] {
        let texts: [Setting: String?] = [
            .engineEndpoints: self.engineEndpoints, .engineCA: self.engineCA,
            .engineCertificate: self.engineCertificate, .engineKey: self.engineKey,
            .engineMachine: self.engineMachine, .host: self.host, .sessionTTL: self.sessionTTL,
            .checkInterval: self.checkInterval, .staleAfter: self.staleAfter,
            .callTimeout: self.callTimeout, .setTimeout: self.setTimeout,
        ]
        var given = texts.compactMapValues { text in text.map { SettingValue.text($0) } }
        if self.engineInsecure { given[.engineInsecure] = .flag(true) }
        return given
    }
}

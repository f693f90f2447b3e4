import Dispatch
import Glibc
import Logging
import ServiceLog
import StateMachineClient
import StateMachineProtocol
import StateMachineWeb
import Systemd
import UnixSignals

/// What the command line asks for, put together.
struct WebService: Sendable {
    /// How long browsers have at the end to take what was sent.
    ///
    /// 1 s: what they have not taken by then they ask for when they reconnect.
    private static let grace = DispatchTimeInterval.seconds(1)

    private let address: ListenAddress
    private let names: [String]
    private let machines: Machines
    private let log: Logger

    init(_ command: WebCommand) {
        self.address = command.listen
        self.names = command.host
        let directories = command.runtimeDirectory.map { RuntimeDirectory(Self.resolved($0)) }
        self.machines = Machines(directories.isEmpty ? .all : .directories(directories))
        self.log = Logger.service(
            label: "statemachine-web",
            threshold: LogThreshold(command.logLevel.level)
        )
    }

    /// The path without links and dots, which names a machine; unchanged if nothing is there yet.
    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Serves until a signal ends it; returns the exit status.
    func run() async -> CInt {
        #if Web
        do {
            let handed = HandedDescriptor.takeAll()
            let socket = try ListenSocket(handed: handed, else: self.address)
            let rule = HostRule(names: self.names, socket: socket)
            let server = WebServer(socket, self.machines, rule: rule, log: self.log)
            try await self.run(server)
            return EXIT_SUCCESS
        } catch {
            self.log.critical("\(error)")
            return EXIT_FAILURE
        }
        #else
        self.log.critical(
            "this program was built without the page; build it with swift build --traits Web"
        )
        return EXIT_FAILURE
        #endif
    }

    #if Web
    private func run(_ server: WebServer) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.machines.run() }
            group.addTask { try await server.run(self.announce) }
            group.addTask {
                for await _ in signals { return }
            }
            try await group.next()
            self.log.info("ending")
            // A browser that takes nothing is not waited for.
            let queue = DispatchQueue(label: "statemachine-web.end")
            queue.asyncAfter(deadline: .now() + Self.grace) {
                LogOutput.standardError.flush()
                _exit(EXIT_SUCCESS)
            }
            group.cancelAll()
        }
    }

    private func announce(_ address: String) {
        self.log.info("listening", metadata: ["address": "\(address)"])
        do throws(NotifyError) {
            try ServiceNotifier().ready()
        } catch {
            self.log.debug(
                "the service manager could not be notified",
                metadata: ["error": "\(error)"]
            )
        }
    }
    #endif
}

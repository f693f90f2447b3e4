import Dispatch
import Glibc
import Logging
import ServiceLog
import StateMachineClient
import StateMachineProtocol
import StateMachineWeb
import Systemd
import UnixSignals

extension WebCommand {
    /// How long browsers have at the end to take what was sent.
    ///
    /// 1 s: what they have not taken by then they ask for when they reconnect.
    private static let grace = DispatchTimeInterval.seconds(1)

    /// Serves until a signal ends it; returns the exit status.
    func serve() async -> CInt {
        let log = Logger.service(
            label: "statemachine-web",
            threshold: LogThreshold(self.logLevel.level)
        )
        #if Web
        do {
            let handed = HandedDescriptor.takeAll()
            let socket = try ListenSocket(handed: handed, else: self.listen)
            let directories = self.runtimeDirectory.map { RuntimeDirectory(Self.resolved($0)) }
            let machines = Machines(directories.isEmpty ? .all : .directories(directories))
            let rule = HostRule(names: self.host, socket: socket)
            try await Self.run(
                WebServer(socket, machines, rule: rule, log: log),
                showing: machines,
                log
            )
            return EXIT_SUCCESS
        } catch {
            log.critical("\(error)")
            return EXIT_FAILURE
        }
        #else
        log.critical(
            "this program was built without the page; build it with swift build --traits Web"
        )
        return EXIT_FAILURE
        #endif
    }

    #if Web
    /// The path without links and dots, which names a machine; unchanged if nothing is there yet.
    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    private static func run(
        _ server: WebServer,
        showing machines: Machines,
        _ log: Logger
    ) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await machines.run { hidden in
                    log.warning(
                        "there are more machines than a page shows; name those to show with --runtime-directory",
                        metadata: ["shown": "\(Machines.most)", "others": "\(hidden)"]
                    )
                }
            }
            group.addTask { try await server.run { self.announce($0, log) } }
            group.addTask {
                for await _ in signals { return }
            }
            try await group.next()
            log.info("ending")
            // A browser that takes nothing is not waited for.
            let queue = DispatchQueue(label: "statemachine-web.end")
            queue.asyncAfter(deadline: .now() + self.grace) {
                LogOutput.standardError.flush()
                _exit(EXIT_SUCCESS)
            }
            group.cancelAll()
        }
    }

    private static func announce(_ address: String, _ log: Logger) {
        log.info("listening", metadata: ["address": "\(address)"])
        do throws(NotifyError) {
            try ServiceNotifier().ready()
        } catch {
            log.debug(
                "the service manager could not be notified",
                metadata: ["error": "\(error)"]
            )
        }
    }
    #endif
}

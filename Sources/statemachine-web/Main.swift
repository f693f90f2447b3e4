import ArgumentParser
import Processes
import ServiceLog
import StateMachineCore
import StateMachineProtocol
import StateMachineWeb
import Systemd

extension LogLevel: ExpressibleByArgument {}

extension ListenAddress {
    /// - Throws: `ValidationError`, with the forms that there are.
    fileprivate static func reading(_ text: String) throws -> ListenAddress {
        if let address = ListenAddress(text) { return address }
        throw ValidationError(
            "\"\(text)\" is not an address to listen on; write 127.0.0.1:8080, [::1]:8080, localhost:8080 or unix:PATH"
        )
    }
}

/// Shows machines on a page.
@main
struct WebCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "statemachine-web",
        abstract: "Shows machines on a page: the state as it changes, the graph, the past.",
        discussion: """
            A client of the daemons that needs only the events socket, where everybody may read; the page changes nothing. Whoever reaches \
            the address sees all that the page shows, so it can be reached from this computer only, unless you say otherwise; put a \
            proxy with a login in front of any other address.

            Paths: / the page; /machines a list; /machines/NAME the state, with an ETag; ?wait=SECONDS until there is \
            another; /machines/NAME/events a stream of server-sent events; /metrics for Prometheus. A socket that \
            systemd hands over is served instead of --listen. Exit codes: 0 ended by SIGTERM or SIGINT, 1 it cannot \
            serve, 64 usage.
            """,
        version: StateMachineVersion.current
    )

    @Option(
        help: ArgumentHelp(
            "Where the page is served: an address and a port, or unix: and a path.",
            valueName: "address"
        ),
        transform: { try ListenAddress.reading($0) }
    )
    var listen = ListenAddress.internet(host: "127.0.0.1", port: 8080)

    @Option(
        help: ArgumentHelp(
            "Where a daemon's sockets are; may be given several times.",
            discussion:
                "Default: all that statectl machines lists, later ones too; at most \(Machines.most).",
            valueName: "dir"
        ),
        completion: .directory
    )
    var runtimeDirectory: [String] = []

    @Option(
        help: ArgumentHelp(
            "A name by which browsers reach the page, besides localhost; may be given several times.",
            discussion:
                "Requests for any other host are refused, as another site's page may have made them.",
            valueName: "name"
        )
    )
    var host: [String] = []

    @Flag(
        name: .customLong("i-know-it-is-open"),
        help: "Serve on an address that other computers can reach."
    )
    var isOpen = false

    @Option(help: "Log this level and those above.")
    var logLevel = LogLevel.info

    func validate() throws {
        guard !self.runtimeDirectory.contains("") else {
            throw ValidationError("--runtime-directory is empty; name the directory")
        }
        guard self.runtimeDirectory.count <= Machines.most else {
            throw ValidationError(
                "there are \(self.runtimeDirectory.count) directories, but a page shows at most \(Machines.most) machines"
            )
        }
        guard !self.host.contains("") else {
            throw ValidationError("--host is empty; name the host")
        }
        if let host = self.host.first(where: { $0.contains(":") || $0.contains("/") }) {
            throw ValidationError(
                "--host must be a name without a port or a path, not \(host)"
            )
        }
        guard self.listen.isLocal || self.isOpen else {
            throw ValidationError(
                "\(self.listen) is open to other machines, and the page has no login; let a proxy with a login "
                    + "serve --listen unix:PATH, or give --i-know-it-is-open"
            )
        }
    }

    static func main() {
        ProcessStart.prepare("statemachine-web") { why in
            WaitingClients.dismissAndWait(HandedDescriptor.takeAll(), with: self.unavailable(why))
        }
        LogOutput.run {
            await withTaskExecutorPreference(QueueExecutor.shared) {
                await self.perform()
            }
        }
    }

    /// Serves until it is told to end; returns the exit status.
    private static func perform() async -> CInt {
        do {
            if let objection = ArgumentWords.objection() { throw ValidationError(objection) }
            var parsed = try self.parseAsRoot(ArgumentWords.all)
            guard let command = parsed as? WebCommand else {
                // The help, which prints itself.
                try parsed.run()
                self.exit()
            }
            return await command.serve()
        } catch {
            if !self.exitCode(for: error).isSuccess {
                await WaitingClients.dismiss(
                    HandedDescriptor.takeAll(),
                    with: self.unavailable(self.message(for: error))
                )
            }
            self.exit(withError: error)
        }
    }

    /// What a browser that waits for a page is told which is not going to be served.
    private static func unavailable(_ why: String) -> [UInt8] {
        let body = "statemachine-web does not start: \(why)\n"
        let head = """
            HTTP/1.1 503 Service Unavailable\r
            Content-Type: text/plain; charset=utf-8\r
            Content-Length: \(body.utf8.count)\r
            Retry-After: 5\r
            Connection: close\r
            \r

            """
        return Array((head + body).utf8)
    }
}

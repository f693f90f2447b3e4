import Foundation
import Glibc
import StateMachineSQLite
import TestSupport

/// A daemon that is ended and started again in one directory, and the manager that keeps what it
/// leaves.
struct Service: Sendable {
    let directory: String
    let notify: NotifySocket
    private let isDurable: Bool
    private let arguments: [String]

    /// The file of its machine, if it has one.
    var file: String { "\(self.directory)/machine.yaml" }
    var state: String { "\(self.directory)/state" }

    /// Starts nothing yet; `isDurable` says whether the daemon will have a history.
    init(
        in directory: String,
        storeLimit: Int = 2048,
        machine: String? = nil,
        isDurable: Bool = false
    ) throws {
        self.directory = directory
        self.notify = try NotifySocket(in: directory, storeLimit: storeLimit)
        self.isDurable = isDurable
        self.arguments =
            (machine == nil ? [] : ["--machine", "\(directory)/machine.yaml"])
            + (isDurable ? ["--state-directory", "\(directory)/state"] : [])
        if let machine { try self.write(machine) }
    }

    func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: self.file), options: .atomic)
    }

    /// Starts a daemon with the descriptors from the manager's store, unless others are given, and
    /// waits until it is ready.
    func start(
        _ arguments: [String] = [],
        handing: [Descriptor]? = nil,
        environment: [String: String] = [:],
        command: [String] = []
    ) async throws -> ActivatedDaemon {
        let daemon = try self.spawn(
            arguments,
            handing: handing,
            environment: environment,
            command: command
        )
        if self.isDurable {
            // Reading a history may take long, so the manager is asked for more time.
            try await self.notify.wait(for: "EXTEND_TIMEOUT_USEC=30000000")
        }
        try await self.notify.wait(for: "READY=1")
        return daemon
    }

    /// Starts one, and waits for nothing.
    func spawn(
        _ arguments: [String] = [],
        handing: [Descriptor]? = nil,
        environment: [String: String] = [:],
        command: [String] = []
    ) throws -> ActivatedDaemon {
        try ActivatedDaemon(
            in: self.directory,
            notify: self.notify,
            handing: handing ?? self.notify.store,
            arguments: self.arguments + arguments,
            environment: environment,
            command: command
        )
    }

    /// Starts one that must refuse to; returns its message to the manager, its stderr and its exit
    /// status.
    func refusal(
        _ arguments: [String] = []
    ) async throws -> (message: String, errors: String, status: CInt) {
        let daemon = try self.spawn(arguments)
        let message = try await self.notify.wait(for: "STATUS=")
        let (errors, status) = try await daemon.ended()
        return (message, errors, status)
    }

    /// Ends one as the manager does for a restart, and starts it again with what it left.
    func restart(_ daemon: ActivatedDaemon) async throws -> ActivatedDaemon {
        daemon.send(SIGUSR2)
        let (errors, status) = try await daemon.ended()
        guard status == 0 else { throw TestFailure("it ended with \(status): \(errors)") }
        return try await self.start()
    }

    /// Has one reload, perhaps another machine; returns when it has, or has refused to.
    func reload(_ daemon: ActivatedDaemon, _ text: String? = nil) async throws {
        if let text { try self.write(text) }
        daemon.send(SIGHUP)
        try await self.reloaded()
    }

    /// Waits until a reload is over.
    func reloaded() async throws {
        try await self.notify.wait(for: "RELOADING=1")
        try await self.notify.wait(for: "READY=1")
    }

    /// As ``reload(_:_:)``, but expects a refusal; returns the status that says so, which may come
    /// before or after READY=1.
    func refuse(_ daemon: ActivatedDaemon, _ text: String) async throws -> String {
        try self.write(text)
        daemon.send(SIGHUP)
        try await self.notify.wait(for: "RELOADING=1")
        let seen = try await self.notify.all(until: "READY=1")
        if let status = seen.last(where: { $0.contains("; the reload was refused: ") }) {
            return status
        }
        return try await self.notify.wait(containing: "; the reload was refused: ")
    }

    /// The first column of a query on the database, while no daemon runs.
    func column(_ sql: String) throws -> [String] {
        try Database("\(self.state)/statemachine.sqlite", timeout: .seconds(10))
            .all(sql) { $0.text(0) ?? "" }
    }
}

/// Runs `body` with a service in a directory of its own, of which nothing has been started.
func withIdleService(
    storeLimit: Int = 2048,
    machine: String? = nil,
    isDurable: Bool = false,
    _ body: @escaping @Sendable (Service) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        try await body(
            Service(in: directory, storeLimit: storeLimit, machine: machine, isDurable: isDurable)
        )
    }
}

/// The same with a daemon that is ready, which `body` ends.
func withService(
    storeLimit: Int = 2048,
    machine: String? = nil,
    isDurable: Bool = false,
    _ body: @escaping @Sendable (Service, ActivatedDaemon) async throws -> Void
) async throws {
    try await withIdleService(storeLimit: storeLimit, machine: machine, isDurable: isDurable) {
        try await body($0, $0.start())
    }
}

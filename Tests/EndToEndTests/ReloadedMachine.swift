import Foundation
import Glibc
import StateMachineSQLite
import TestSupport

/// A daemon whose machine is declared in a file, that file, and the manager that hears of reloads.
struct ReloadedMachine: Sendable {
    let directory: String
    let notify: NotifySocket
    let arguments: [String]

    var file: String { "\(self.directory)/machine.yaml" }
    var state: String { "\(self.directory)/state" }

    /// Starts nothing yet; `isDurable` says whether the daemon will have a history.
    init(in directory: String, isDurable: Bool = false) throws {
        self.directory = directory
        self.notify = try NotifySocket(in: directory, storeLimit: 64)
        self.arguments =
            ["--machine", "\(directory)/machine.yaml"]
            + (isDurable ? ["--state-directory", "\(directory)/state"] : [])
    }

    func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: self.file), options: .atomic)
    }

    /// Starts a daemon with the descriptors from the manager's store.
    func start() async throws -> ActivatedDaemon {
        let daemon = try ActivatedDaemon(
            in: self.directory,
            notify: self.notify,
            handing: self.notify.store,
            arguments: self.arguments
        )
        try await self.notify.wait(for: "READY=1")
        return daemon
    }

    /// Starts a daemon that should refuse to; returns its error output and status.
    func refusal() async throws -> (errors: String, status: CInt) {
        try await ActivatedDaemon(
            in: self.directory,
            notify: self.notify,
            arguments: self.arguments
        )
        .ended()
    }

    /// Writes the file and has the daemon reload it; returns when it has, or has refused to.
    func reload(_ daemon: ActivatedDaemon, _ text: String? = nil) async throws {
        if let text { try self.write(text) }
        daemon.send(SIGHUP)
        try await self.notify.wait(for: "RELOADING=1")
        try await self.notify.wait(for: "READY=1")
    }

    /// As ``reload(_:_:)``, but expects a refusal; returns the status that says so, which may come
    /// before or after READY=1.
    func refuse(_ daemon: ActivatedDaemon, _ text: String?) async throws -> String {
        if let text { try self.write(text) }
        daemon.send(SIGHUP)
        try await self.notify.wait(for: "RELOADING=1")
        let seen = try await self.notify.all(until: "READY=1")
        if let status = seen.last(where: { $0.contains("; the reload was refused: ") }) {
            return status
        }
        return try await self.notify.wait(containing: "; the reload was refused: ")
    }

    func end(_ daemon: ActivatedDaemon) async throws -> CInt {
        daemon.send(SIGTERM)
        return try await daemon.ended().status
    }

    /// The first column of a query on the database, while no daemon runs.
    func column(_ sql: String) throws -> [String] {
        try Database("\(self.state)/statemachine.sqlite", timeout: .seconds(10))
            .all(sql) { $0.text(0) ?? "" }
    }
}

/// Runs `body` with a machine that a file declares, in a directory of its own.
func withReloadedMachine(
    _ text: String,
    isDurable: Bool = false,
    _ body: @escaping @Sendable (ReloadedMachine, ActivatedDaemon) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let machine = try ReloadedMachine(in: directory, isDurable: isDurable)
        try machine.write(text)
        try await body(machine, machine.start())
    }
}

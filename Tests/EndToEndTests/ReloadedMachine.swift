import Foundation
import GRDB
import Glibc
import TestSupport

/// A daemon whose machine a file declares, the file, and the manager that is told how its reloads go.
struct ReloadedMachine: Sendable {
    let directory: String
    let notify: NotifySocket
    let arguments: [String]

    var file: String { "\(self.directory)/machine.yaml" }
    var state: String { "\(self.directory)/state" }

    /// Nothing runs yet; `isDurable` says whether the daemon is to have a history.
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

    /// Starts a daemon with what the manager's store has.
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

    /// The same for one that is to refuse to start; returns what it says and its status.
    func refusal() async throws -> (errors: String, status: CInt) {
        try await ActivatedDaemon(
            in: self.directory,
            notify: self.notify,
            arguments: self.arguments
        )
        .ended()
    }

    /// Writes the file and has the daemon read it; returns when it has, or has refused to.
    func reload(_ daemon: ActivatedDaemon, _ text: String? = nil) async throws {
        if let text { try self.write(text) }
        daemon.send(SIGHUP)
        try await self.notify.wait(for: "RELOADING=1")
        try await self.notify.wait(for: "READY=1")
    }

    /// The same where that is refused; returns the status that says so, which may come before or after the end.
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

    /// A query's first column, of the database while no daemon runs.
    func column(_ sql: String) throws -> [String] {
        try DatabaseQueue(path: "\(self.state)/statemachine.sqlite").read { db in
            try String.fetchAll(db, sql: sql)
        }
    }
}

/// Runs `body` with a machine in a directory of its own, which a file declares.
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

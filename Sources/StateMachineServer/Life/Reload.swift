import Logging
import NIOCore
import ServiceLog
import StateMachineCore
package import StateMachineProtocol
import Systemd

/// How a reload went.
struct ReloadResult: Sendable {
    /// Why it is refused, a line for each thing that is wrong; none if it is not.
    var problems: [String] = []
    /// The settings that have to wait for the next start.
    var later: [String] = []
    /// Whether another process has to take over.
    var needsSuccessor = false
}

/// Handles SIGHUP, and `reload`: reads the limits and the machine's declaration anew, all or nothing.
struct Reload: Sendable {
    let run: DaemonRun
    let server: StateServer
    let status: StatusReporter
    private var logger: Logger { self.run.logger }

    /// Reloads, and tells the service manager when that begins and when it is done, however it went.
    func perform() async -> ReloadResult {
        await self.run.manager.tell("reloading") { try $0.reloading() }
        var result = ReloadResult()
        do {
            do {
                result.later = try await self.readAnew()
            } catch is SuccessionNeeded {
                try self.checkSuccession()
                result.needsSuccessor = true
            }
            self.status.reloadRefused(nil)
        } catch let refusal as ReloadRefusal {
            result.problems = refusal.problems
        } catch {
            result.problems = ["\(error)"]
        }
        if !result.problems.isEmpty { self.refused(result.problems) }
        await self.run.manager.tell("ready") { try $0.ready() }
        return result
    }

    /// Checks that the next process would start, and that something starts it.
    private func checkSuccession() throws(ReloadRefusal) {
        if self.run.ownPast != nil, self.run.machine.place.seq > 0 {
            throw ReloadRefusal([
                "a file now declares a machine, but the history in the state directory is of the built-in states; "
                    + "stop the daemon, move statemachine.sqlite out of that directory, and start the daemon"
            ])
        }
        guard self.run.manager.notifier.isHeard else {
            throw ReloadRefusal([
                "a file now declares a machine, and the daemon started without one; restart the daemon"
            ])
        }
        self.logger.notice("a file now declares a machine, restarting to serve it")
    }

    /// Returns the settings that have to wait for the next start.
    private func readAnew() async throws -> [String] {
        let redeclaration = try self.run.redeclare?()
        let limits = try self.run.configuration.reload?()
        if let redeclaration {
            try await self.redeclare(redeclaration)
        } else {
            try await self.server.loop.submit { self.server.stays?.lift() }.get()
        }
        guard let limits else { return [] }
        self.run.warn(of: limits, within: self.server.slots)
        let later = try await self.server.loop.submit { self.server.apply(limits) }.get()
        self.logger.notice(
            "\(CataloguedMessage.reloaded.rawValue)",
            metadata: later.isEmpty ? [:] : ["atNextStart": "\(later.joined(separator: ", "))"]
        )
        return later
    }

    private func refused(_ problems: [String]) {
        for problem in problems { self.logger.error("\(problem)") }
        self.logger.error(
            "the reload was refused, and nothing has changed",
            metadata: ["problems": "\(problems.count)"]
        )
        self.status.reloadRefused(problems.first ?? "?")
    }

    private func redeclare(_ new: Redeclaration) async throws {
        guard let declaration = new.schema.declaration else { return }
        for warning in new.warnings { self.logger.warning("\(warning)") }
        let promise = self.server.loop.makePromise(of: UInt64?.self)
        self.server.loop.execute {
            // A user's number may be another one by now.
            guard let old = self.server.schema.declaration,
                old.hash != declaration.hash || self.server.schema.rights != new.schema.rights
            else {
                self.server.stays?.lift()
                return promise.succeed(nil)
            }
            if let oldName = old.machine, let name = declaration.machine, oldName != name {
                return promise.fail(
                    ReloadRefusal([
                        "the file declares the machine \(name.quoted), but this daemon serves \(oldName.quoted); write "
                            + "\"machine: \(oldName)\", or serve the file as another instance"
                    ])
                )
            }
            self.server.redeclare(new.schema) { result in
                promise.completeWith(result.map { $0 }.mapError { $0 })
            }
        }
        guard let seq = try await promise.futureResult.get() else { return }
        try await self.server.loop.submit {
            for voter in self.server.voters.void { self.logger.log(void: voter) }
        }.get()
        await self.note(declaration, from: seq)
        var metadata: Logger.Metadata = ["declaration": "\(declaration.hash)", "seq": "\(seq)"]
        metadata["version"] = declaration.version.map { "\($0.printable)" }
        self.logger.notice("the machine's file was reloaded", metadata: metadata)
    }

    private func note(_ declaration: RecordedDeclaration, from seq: UInt64) async {
        guard self.run.ownPast != nil else { return }
        let (machine, record) = (self.run.machine, Record.declared(declaration, from: seq))
        let refusal = await withCheckedContinuation { continuation in
            machine.record([record]) { continuation.resume(returning: $0) }
        }
        if let failure = refusal?.failure {
            machine.note(record)
            self.logger.error(
                "the reloaded file could not be recorded in the history, trying again with the next change",
                metadata: ["error": "\(failure)"]
            )
        }
    }
}

/// A machine's new declaration, read at a reload.
package struct Redeclaration: Sendable {
    package let schema: Schema
    /// What may not do what was meant, one line each.
    package let warnings: [String]

    package init(_ schema: Schema, warnings: [String]) {
        self.schema = schema
        self.warnings = warnings
    }
}

/// Why a reload is refused: everything stays as it was.
package struct ReloadRefusal: Error, Sendable {
    /// One line for each thing that is wrong.
    package let problems: [String]

    package init(_ problems: [String]) {
        self.problems = problems
    }
}

/// The new declaration has states of another kind, which only a new process can serve.
///
/// Thrown by the code that reads the declaration, and then by the daemon once it has ended because
/// of it: whoever runs the daemon exits with ``exitStatus``, and starts it again.
package struct SuccessionNeeded: Error, Sendable {
    /// `EX_TEMPFAIL` of sysexits.h; the units say `RestartForceExitStatus=75`.
    package static var exitStatus: Int32 { 75 }

    package init() {}
}

import StateMachineCore

/// Runs commands as children of this process, each in a session of its own.
///
/// They get this process's standard output and error. They do not outlive it: what a killed runner
/// has left is ended when the next one begins.
///
/// Guarded state: `children`, behind its lock.
package final class ChildHost: CommandHost {
    package let outlivesRunner = false

    private let children = Lock<[CommandName: Child]>([:])
    private let ledger: ChildLedger?
    private let executor = QueueExecutor(label: "statemachine-runner.children")

    /// Ends what an earlier runner has left.
    ///
    /// - Parameter directory: where to remember what runs; nil not to remember it.
    /// - Throws: `RunnerError` if that cannot be read or written.
    package init(remembering directory: MemoryDirectory?) async throws(RunnerError) {
        self.ledger = directory.map { ChildLedger(in: $0.path) }
        guard let ledger else { return }
        let left = try ledger.sessions()
        for session in left { await session.endLeftovers() }
        if !left.isEmpty { try ledger.write([]) }
    }

    package func start(_ order: CommandOrder) async throws(CommandHostError) {
        // Calls for one name come one after the other.
        guard self.child(order.name) == nil else { return }
        let child = Child(on: self.executor)
        self.children.withLock { $0[order.name] = child }
        do throws(CommandHostError) {
            try await child.start(order) { () throws(CommandHostError) in try self.remember() }
        } catch {
            await child.clear()
            self.children.withLock { $0[order.name] = nil }
            throw error
        }
        do throws(CommandHostError) {
            // Now with its leader, which identifies a command that has emptied its environment.
            try self.remember()
        } catch {
            // It runs, and can be recognised by what was remembered before.
        }
    }

    package func end(of name: CommandName) async throws(CommandHostError) -> CommandEnd? {
        await self.child(name)?.end()
    }

    package func stop(_ name: CommandName) async throws(CommandHostError) {
        await self.child(name)?.stop()
    }

    package func forget(_ name: CommandName) async throws(CommandHostError) {
        guard let child = self.child(name) else { return }
        // What it has left in the background ends with it.
        await child.clear()
        self.children.withLock { $0[name] = nil }
        try self.remember()
    }

    package func known(of machine: MachineLabel) async throws(CommandHostError) -> [CommandName] {
        self.children.withLock { children in children.keys.filter { $0.label == machine } }
    }

    private func child(_ name: CommandName) -> Child? { self.children.withLock { $0[name] } }

    private func remember() throws(CommandHostError) {
        guard let ledger else { return }
        let sessions = self.children.withLock { $0.values.compactMap(\.session) }
        do throws(RunnerError) {
            try ledger.write(sessions)
        } catch {
            throw CommandHostError(error.description)
        }
    }
}

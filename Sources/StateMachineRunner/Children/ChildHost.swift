import Processes
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import SystemPackage

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
            // There is no process, and nobody has heard of it.
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
        await child.stop(killingAfter: .zero)
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

/// One child of this process, from its start to its end.
///
/// Guarded state: `state`, behind its lock.
final class Child: Sendable {
    private struct State {
        var session: ChildSession?
        /// Why it ends, if not by itself.
        var reason: RunEnd?
        var end: CommandEnd?
        /// Each finished with the end.
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let executor: QueueExecutor
    private let state = Lock(State())

    /// - Parameter executor: where its end is awaited.
    init(on executor: QueueExecutor) { self.executor = executor }

    /// The processes that belong to it; nil before it has begun, and if it never did.
    var session: ChildSession? { self.state.withLock { $0.session } }

    /// Starts it; returns when it runs, or has ended because it cannot, and throws if there is no process.
    ///
    /// `remember` is called before there is a process; ``session`` then says how it will be
    /// recognised.
    func start(
        _ order: CommandOrder,
        remember: () throws(CommandHostError) -> Void
    ) async throws(CommandHostError) {
        let start: ChildStart
        do throws(ChildStart.Failure) {
            start = try ChildStart(order)
        } catch {
            return self.finish(.exit(error.status), after: .zero)
        }
        self.state.withLock { $0.session = start.session }
        try remember()
        guard let timer = KernelClock().timer({ self.timeIsUp() }) else {
            throw CommandHostError("cannot create a timer for \(order.name)")
        }
        let (begun, beginning) = AsyncStream.makeStream(of: CommandHostError.self)
        // The task lasts as long as the command, which is longer than this call; stopping or
        // forgetting the command ends it.
        Task(executorPreference: self.executor) {
            let clock = ContinuousClock()
            let began = clock.now
            do throws(ChildStart.Failure) {
                let end = try await start.run { session in
                    self.state.withLock { $0.session = session }
                    if let limit = order.command.timeout { timer.set(after: limit) }
                    beginning.finish()
                }
                self.finish(self.kind(of: end), after: began.duration(to: clock.now))
            } catch {
                self.state.withLock { $0.session = nil }
                if let trouble = error.trouble { beginning.yield(CommandHostError(trouble)) }
                self.finish(.exit(error.status), after: .zero)
            }
            timer.stop()
            beginning.finish()
        }
        for await error in begun { throw error }
    }

    /// Its end, once there is one; nil only if the task is cancelled.
    func end() async -> CommandEnd? {
        let (ended, waiting) = AsyncStream.makeStream(of: Void.self)
        let known = self.state.withLock { state in
            if state.end == nil { state.waiting.append(waiting) }
            return state.end
        }
        if let known { return known }
        for await _ in ended {}
        return self.state.withLock { $0.end }
    }

    /// Ends it by SIGTERM, and by SIGKILL after that time, its own if none is given; returns when nothing of it is
    /// left.
    func stop(killingAfter grace: Duration? = nil) async {
        guard let session = self.session else { return }
        self.willEnd(session, because: .interrupted)
        await session.end(after: grace ?? session.grace)
        _ = await self.end()
    }

    /// Notes why it ends, unless it has ended by itself, if only just now.
    private func willEnd(_ session: ChildSession, because reason: RunEnd) {
        let hasEnded = session.hasLeaderEnded
        self.state.withLock { state in
            if state.end == nil, state.reason == nil, !hasEnded { state.reason = reason }
        }
    }

    private func timeIsUp() {
        guard let session = self.session else { return }
        self.willEnd(session, because: .timeout)
        Task(executorPreference: self.executor) { await session.end(after: session.grace) }
    }

    private func kind(of end: RunningProgram.End) -> RunEnd {
        if let reason = self.state.withLock({ $0.reason }) { return reason }
        switch end {
        case .exited(let code): return .exit(Int(code))
        case .signalled(let signal): return .signal(SignalName.of(signal))
        }
    }

    private func finish(_ kind: RunEnd, after duration: Duration) {
        let end = CommandEnd(kind, duration: duration)
        let waiting = self.state.withLock { state in
            state.end = end
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }
}

/// The file of children that exist or are about to, for a runner that comes after a killed one.
struct ChildLedger: Sendable {
    private let file: WholeFile

    init(in directory: String) { self.file = WholeFile("runner-children.json", in: directory) }

    /// The sessions as of the last write.
    func sessions() throws(RunnerError) -> [ChildSession] {
        try (self.file.json()?.elements ?? []).compactMap { element in
            guard let leader = element["leader"]?.integer.flatMap({ Int32(exactly: $0) }),
                let start = element["start"]?.integer.flatMap({ UInt64(exactly: $0) }),
                let token = element["token"]?.string, let grace = element["graceMs"]?.integer
            else { return nil }
            let time = Duration.milliseconds(grace)
            return ChildSession(leader: leader, start: start, token: token, grace: time)
        }
    }

    /// Writes the sessions; they need not survive a reboot, as children do not either.
    func write(_ sessions: [ChildSession]) throws(RunnerError) {
        let json = JSONValue.array(
            sessions.map { session in
                .members([
                    ("leader", .integer(session.leader)),
                    ("start", .integer(session.start)),
                    ("token", .string(session.token)),
                    ("graceMs", .integer(session.grace.wholeMilliseconds)),
                ])
            }
        )
        try self.file.keep("\(json)\n", isDurable: false)
    }
}

package import Logging
import Processes
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import SystemPackage

/// Runs commands as children of this process, each in a session of its own.
///
/// They get this process's standard output and error. They do not outlive it: what a killed runner
/// has left is ended when the next one begins.
///
/// Guarded state: `children` and `survivors`, each behind its lock.
package final class ChildHost: CommandHost {
    package let outlivesRunner = false

    private let children = Lock<[CommandName: Child]>([:])
    /// What could not be killed: one of the processes, and why.
    private let survivors = Lock<[ChildSession: ChildSession.Survivor]>([:])
    private let ledger: ChildLedger?
    private let log: Logger
    private let executor = QueueExecutor(label: "statemachine-runner.children")

    /// Ends what an earlier runner has left.
    ///
    /// - Parameters:
    ///   - directory: where to remember what runs; nil not to remember it.
    ///   - log: where to say what could not be killed.
    /// - Throws: `RunnerError` if that cannot be read or written.
    package init(
        remembering directory: MemoryDirectory?,
        log: Logger
    ) async throws(RunnerError) {
        self.ledger = directory.map { ChildLedger(in: $0.path) }
        self.log = log
        guard let ledger else { return }
        let (sessions, isDamaged) = try ledger.sessions()
        if isDamaged {
            log.warning(
                "the list of commands of an earlier runner cannot be read, one that was killed may have left some running"
            )
        }
        await withTaskGroup(of: Void.self) { group in
            for session in sessions {
                group.addTask {
                    if let survivor = await session.endLeftovers() {
                        self.give(up: session, survivor)
                    }
                }
            }
        }
        guard !sessions.isEmpty || isDamaged else { return }
        try ledger.write(self.leftSessions)
    }

    package var left: [LeftCommand] {
        self.survivors.withLock { survivors in
            survivors = survivors.filter { $0.value.process.isThere }
            return survivors.map { LeftCommand($0, $1) }
                .sorted { $0.command < $1.command }
        }
    }

    private var leftSessions: [ChildSession] {
        self.survivors.withLock { $0.filter { $0.value.process.isThere }.map(\.key) }
    }

    /// Waits no longer for a command that could not be killed.
    private func give(up session: ChildSession, _ survivor: ChildSession.Survivor) {
        LeftCommand(session, survivor).log(to: self.log)
        var session = session
        session.isGivenUp = true
        self.survivors.withLock { $0[session] = survivor }
    }

    package func start(_ order: CommandOrder) async throws(CommandHostError) {
        // Calls for one name come one after the other.
        guard self.child(order.name) == nil else { return }
        let child = Child(on: self.executor) { self.give(up: $0, $1) }
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
        let present = self.children.withLock { $0.values.filter { !$0.isGivenUp } }
        let sessions = present.compactMap(\.session) + self.leftSessions
        do throws(RunnerError) {
            try ledger.write(sessions)
        } catch {
            throw CommandHostError(error.description)
        }
    }
}

extension LeftCommand {
    fileprivate init(_ session: ChildSession, _ survivor: ChildSession.Survivor) {
        self.init(command: session.command, why: survivor.why, process: survivor.process)
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
        var began: ContinuousClock.Instant?
        /// Whether something of it is left that nobody waits for.
        var isGivenUp = false
        var end: CommandEnd?
        /// Each finished with the end.
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let executor: QueueExecutor
    private let giveUp: @Sendable (ChildSession, ChildSession.Survivor) -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - executor: where its end is awaited.
    ///   - giveUp: called with what cannot be killed.
    init(
        on executor: QueueExecutor,
        giveUp: @escaping @Sendable (ChildSession, ChildSession.Survivor) -> Void
    ) {
        self.executor = executor
        self.giveUp = giveUp
    }

    /// The processes that belong to it; nil before it has begun, and if it never did.
    var session: ChildSession? { self.state.withLock { $0.session } }

    /// Whether something of it is left that could not be killed.
    var isGivenUp: Bool { self.state.withLock { $0.isGivenUp } }

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
                    self.state.withLock { ($0.session, $0.began) = (session, began) }
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
        guard let session = self.session, !self.isGivenUp else { return }
        self.willEnd(session, because: .interrupted)
        await self.end(session, after: grace ?? session.grace)
        _ = await self.end()
    }

    /// Ends its processes, or does not wait for them any longer.
    private func end(_ session: ChildSession, after grace: Duration) async {
        guard let survivor = await session.end(after: grace) else { return }
        let (isFirst, reason, began) = self.state.withLock { state in
            defer { state.isGivenUp = true }
            return (!state.isGivenUp, state.reason ?? .interrupted, state.began)
        }
        if isFirst { self.giveUp(session, survivor) }
        self.finish(reason, after: began?.duration(to: .now) ?? .zero)
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
        Task(executorPreference: self.executor) { await self.end(session, after: session.grace) }
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
            // What is given up may end later.
            state.end = state.end ?? end
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

    /// The sessions as of the last write, and whether some cannot be read.
    func sessions() throws(RunnerError) -> ([ChildSession], isDamaged: Bool) {
        guard let json = try self.file.json() else { return ([], false) }
        guard let elements = json.elements else { return ([], true) }
        let sessions = elements.compactMap { element -> ChildSession? in
            guard let leader = element["leader"]?.integer.flatMap({ Int32(exactly: $0) }),
                let start = element["start"]?.integer.flatMap({ UInt64(exactly: $0) }),
                let token = element["token"]?.string, let grace = element["graceMs"]?.integer
            else { return nil }
            return ChildSession(
                command: element["command"]?.string ?? "",
                leader: leader,
                start: start,
                token: token,
                grace: .milliseconds(grace),
                isGivenUp: element["isGivenUp"]?.bool ?? false
            )
        }
        return (sessions, sessions.count < elements.count)
    }

    /// Writes the sessions; they need not survive a reboot, as children do not either.
    func write(_ sessions: [ChildSession]) throws(RunnerError) {
        let json = JSONValue.array(
            sessions.map { session in
                .members([
                    ("command", .string(session.command)),
                    ("leader", .integer(session.leader)),
                    ("start", .integer(session.start)),
                    ("token", .string(session.token)),
                    ("graceMs", .integer(session.grace.wholeMilliseconds)),
                    ("isGivenUp", session.isGivenUp ? true : nil),
                ])
            }
        )
        try self.file.keep("\(json)\n", isDurable: false)
    }
}

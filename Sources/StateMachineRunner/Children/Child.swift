import StateMachineCore
import StateMachineDeclaration
import Subprocess

/// One child of this process, from its start to its end.
///
/// Guarded state: `state`, behind its lock.
final class Child: Sendable {
    private enum Reason {
        case itself
        case timeout
        case stopped
    }

    private struct State {
        var session: ChildSession?
        var reason = Reason.itself
        var end: CommandEnd?
        var waiting: [Int: CheckedContinuation<CommandEnd?, Never>] = [:]
        var lastWaiting = 0
    }

    private let executor: QueueExecutor
    private let state = Lock(State())

    /// - Parameter executor: where its end is awaited.
    init(on executor: QueueExecutor) { self.executor = executor }

    /// The processes that belong to it; nil before it has begun, and if it never did.
    var session: ChildSession? { self.state.withLock { $0.session } }

    /// Starts it; returns when it runs, or has ended because it cannot.
    ///
    /// `remember` is called before there is a process; ``session`` then says how it will be
    /// recognised.
    func start(
        _ order: CommandOrder,
        remember: () throws(CommandHostError) -> Void
    ) async throws(CommandHostError) {
        let start: ChildStart
        do throws(ChildStart.Failure) {
            start = try await ChildStart(order)
        } catch {
            return self.finish(.exit(error.status), after: .zero)
        }
        self.state.withLock { $0.session = start.session }
        try remember()
        guard let timer = KernelClock().timer({ self.timeIsUp() }) else {
            throw CommandHostError("there is no timer left for \(order.name)")
        }
        let (begun, beginning) = AsyncStream.makeStream(of: CommandHostError.self)
        // The task lasts as long as the command, which is longer than this call; stopping or
        // forgetting the command ends it.
        Task(executorPreference: self.executor) {
            let clock = ContinuousClock()
            let began = clock.now
            do throws(ChildStart.Failure) {
                let status = try await start.run { session in
                    self.state.withLock { $0.session = session }
                    if let limit = order.command.timeout { timer.set(after: limit) }
                    beginning.finish()
                }
                self.finish(self.kind(of: status), after: began.duration(to: clock.now))
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
        let number = self.state.withLock { state in
            state.lastWaiting += 1
            return state.lastWaiting
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isDone, end) = self.state.withLock { state -> (Bool, CommandEnd?) in
                    // A cancellation after this finds it waiting.
                    guard state.end == nil, !Task.isCancelled else { return (true, state.end) }
                    state.waiting[number] = continuation
                    return (false, nil)
                }
                if isDone { continuation.resume(returning: end) }
            }
        } onCancel: {
            let continuation = self.state.withLock { $0.waiting.removeValue(forKey: number) }
            continuation?.resume(returning: nil)
        }
    }

    /// Ends it by SIGTERM, and after its grace time by SIGKILL; returns when nothing of it is left.
    func stop() async {
        guard let session = self.session else { return }
        self.willEnd(session, because: .stopped)
        await session.end(after: session.grace)
        _ = await self.end()
    }

    /// Ends what is left of it at once.
    func clear() async {
        guard let session = self.session else { return }
        self.willEnd(session, because: .stopped)
        await session.end(after: .zero)
        _ = await self.end()
    }

    /// Notes why it ends, unless it has ended by itself, if only just now.
    private func willEnd(_ session: ChildSession, because reason: Reason) {
        let hasEnded = session.hasLeaderEnded
        self.state.withLock { state in
            if state.end == nil, state.reason == .itself, !hasEnded { state.reason = reason }
        }
    }

    private func timeIsUp() {
        guard let session = self.session else { return }
        self.willEnd(session, because: .timeout)
        Task(executorPreference: self.executor) { await session.end(after: session.grace) }
    }

    private func kind(of status: TerminationStatus) -> CommandEnd.Kind {
        switch self.state.withLock({ $0.reason }) {
        case .timeout: return .timeout
        case .stopped: return .stopped
        case .itself: break
        }
        switch status {
        case .exited(let code): return .exit(Int(code))
        case .signaled(let signal): return .signal(SignalName.of(signal))
        }
    }

    private func finish(_ kind: CommandEnd.Kind, after duration: Duration) {
        let end = CommandEnd(kind, duration: duration)
        let waiting = self.state.withLock { state in
            state.end = end
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: end) }
    }
}

import StateMachineClient
import StateMachineCore

/// A wait for one of some states to last.
struct LastingWait: Sendable {
    private enum Signal: Sendable {
        /// A line of the watch, whose change was made that long ago.
        case line(Line, age: Duration)
        /// One of the states that end the wait badly was reached.
        case failed(Line)
        /// It may have lasted long enough.
        case elapsed
        /// The present state, if it has lasted long enough; nil if another line is on its way.
        case present(Line?)
        case timeUp
    }

    let client: Client
    let patterns: [Pattern]
    var fail: [Pattern] = []
    /// How long it has to last without a break.
    let span: Duration
    /// After how long to give up; nil means never.
    var timeout: Duration?
    var isPatient = false
    /// Called with what goes wrong.
    var complain: @Sendable (String) -> Void = { StandardError.write("statectl: \($0)") }

    /// How it ended.
    enum End {
        /// The state has lasted; the line shows it.
        case lasted(Line)
        case failed(Line)
        case timeUp
    }

    /// Waits.
    ///
    /// - Throws: ``ClientError``, or `CancellationError`.
    func run() async throws -> End {
        let (signals, signal) = AsyncStream.makeStream(of: Signal.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { signal.finish() }
                try await self.follow(signal)
            }
            if let timeout = self.timeout {
                group.addTask {
                    try await QuietClock().sleep(for: timeout)
                    signal.yield(.timeUp)
                }
            }
            var state = LastingState<ContinuousClock.Instant>()
            var timer: (end: ContinuousClock.Instant, task: Task<Void, Never>)?
            defer {
                timer?.task.cancel()
                group.cancelAll()
            }
            for await next in signals {
                switch next {
                case .line(let line, let age):
                    state.lineReceived(line, at: .now, age)
                    let end = state.since?.advanced(by: self.span)
                    guard end != timer?.end else { continue }
                    timer?.task.cancel()
                    timer = end.map { end in (end, Self.timer(until: end, signal)) }
                case .failed(let line): return .failed(line)
                case .elapsed:
                    guard let end = timer?.end, end <= .now else { continue }
                    // A line that came meanwhile, and is on its way, sets another one.
                    timer = nil
                    let seq = state.seq
                    group.addTask { signal.yield(.present(try await self.present(seq))) }
                case .present(let line):
                    if let line { return .lasted(line) }
                case .timeUp: return .timeUp
                }
            }
            // The watch has ended: what it throws counts, not what the tasks throw that are
            // cancelled because of it.
            group.cancelAll()
            while let result = await group.nextResult() {
                if case .failure(let error) = result, !(error is CancellationError) { throw error }
            }
            throw CancellationError()
        }
    }

    /// Starts a timer in a task of its own; there is one at a time, as the next one ends it.
    private static func timer(
        until end: ContinuousClock.Instant,
        _ signal: AsyncStream<Signal>.Continuation
    ) -> Task<Void, Never> {
        Task {
            do {
                try await Task.sleep(until: end, clock: QuietClock())
                signal.yield(.elapsed)
            } catch {
                // Another timer counts.
            }
        }
    }

    private func follow(_ signal: AsyncStream<Signal>.Continuation) async throws {
        var presence = DaemonPresence()
        let watch = self.client.watch(
            only: self.patterns,
            until: self.fail,
            isPatient: self.isPatient
        )
        for try await event in watch {
            switch event {
            case .line(let line):
                if presence.lineReceived() { self.complain("connected") }
                signal.yield(.line(line, age: try await self.age(of: line)))
            case .reached(let line): signal.yield(.failed(line))
            case .interrupted(let error, let attempt, _):
                switch presence.interrupted(attempt: attempt) {
                case .gone: self.complain(error.reconnecting)
                case .awaited: self.complain(error.awaiting)
                case .still: break
                }
            }
        }
    }

    /// How long ago a line's change was made; a change that was just made is told at once.
    private func age(of line: Line) async throws -> Duration {
        guard line.kind == .state || line.isReplay, line.isSelected else { return .zero }
        do {
            return try await self.client.age(of: line)
        } catch is ClientError {
            // The watch notices, and tells the state again when the daemon is back.
            return .zero
        }
    }

    /// The present state, if it is still that of the last line; if not, another line is on its way.
    private func present(_ seq: UInt64?) async throws -> Line? {
        do {
            let reply = try await self.client.reply(to: .get)
            return reply.isOK == true && reply.seq == seq ? reply : nil
        } catch is ClientError {
            // The watch notices, and goes on when the daemon is back.
            return nil
        }
    }
}

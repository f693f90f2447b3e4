import StateMachineClient
import StateMachineCore

/// A wait for one of some states to last.
struct LastingWait: Sendable {
    private enum Signal: Sendable {
        case line(Line)
        /// One of the states was reached that end the wait badly.
        case failed(Line)
        /// It may have lasted; of earlier signals of this kind the number is smaller.
        case elapsed(Int)
        case timeUp
    }

    let client: Client
    let patterns: [Pattern]
    var fail: [Pattern] = []
    /// For how long without a break.
    let span: Duration
    /// After how long to give up; nil means never.
    var timeout: Duration?
    var isPatient = false
    /// Told what goes as it should not.
    var complain: @Sendable (String) -> Void = { StandardError.write("statectl: \($0)") }

    /// How it ended.
    enum End {
        /// The state has lasted; the line tells of it.
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
                    try await Task.sleep(for: timeout)
                    signal.yield(.timeUp)
                }
            }
            defer { group.cancelAll() }
            var state = LastingState<ContinuousClock.Instant>()
            var number = 0
            for await next in signals {
                switch next {
                case .line(let line):
                    state.lineReceived(line, at: .now, .now)
                    guard let since = state.since else { continue }
                    number += 1
                    let (mine, end) = (number, since.advanced(by: self.span))
                    group.addTask {
                        try await Task.sleep(until: end, clock: .continuous)
                        signal.yield(.elapsed(mine))
                    }
                case .failed(let line): return .failed(line)
                case .elapsed(let mine):
                    guard mine == number, let line = try await self.present(state.seq) else {
                        continue
                    }
                    return .lasted(line)
                case .timeUp: return .timeUp
                }
            }
            try await group.waitForAll()
            throw CancellationError()
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
                signal.yield(.line(line))
            case .reached(let line): signal.yield(.failed(line))
            case .interrupted(let error, let attempt, _):
                switch presence.interrupted(attempt: attempt) {
                case .gone: self.complain("\(error.description.printable); reconnecting")
                case .awaited: self.complain("\(error.description.printable); waiting for it")
                case .still: break
                }
            }
        }
    }

    /// The state as it is, if that is still the one of the last line; what is on its way tells otherwise.
    private func present(_ seq: UInt64?) async throws -> Line? {
        do {
            let reply = try await self.client.reply(to: .get)
            return reply.isOK == true && reply.seq == seq ? reply : nil
        } catch is ClientError {
            // The watch finds out, and goes on when the daemon is there again.
            return nil
        }
    }
}

import StateMachineClient
import StateMachineCore

/// Decides how long the machine has been in one of some states without a break.
///
/// It takes the lines of a watch for these states alone: a change whose number does not follow the
/// last one's comes back from another state.
struct LastingState<Instant: InstantProtocol> where Instant.Duration == Duration {
    /// The seq of the last line, while the machine is in one of them; nil otherwise.
    private(set) var seq: UInt64?
    /// Since when; nil while it is in none.
    private(set) var since: Instant?

    /// Takes a line of the watch, whose change was made that long ago.
    mutating func lineReceived(_ line: Line, at now: Instant, _ age: Duration) {
        switch line.kind {
        case .change, .state: break
        case .live where !line.isSelected: return self.left()
        // The changes before it have said so.
        case .live, .beat, .reply, .declared, .ask, .bye, .other: return
        }
        guard line.isSelected, let seq = line.seq else { return self.left() }
        let isNext = line.kind == .change && self.seq.map { $0 + 1 == seq } ?? false
        if !isNext { self.since = now.advanced(by: .zero - age) }
        self.seq = seq
    }

    private mutating func left() { (self.seq, self.since) = (nil, nil) }
}

/// Whether the machine has been in one of some states for that long, by its history.
struct LastingPast: Sendable {
    let client: Client
    let patterns: [Pattern]

    /// Whether it has, without a break; `present` shows one of the states, and was entered `age` ago.
    ///
    /// What was before that is told by the wall clock, as the changes have it.
    ///
    /// It counts as no if that cannot be told, as the daemon has not kept enough.
    ///
    /// - Throws: ``ClientError``.
    func hasLasted(_ present: Line, _ span: Duration, age: Duration) async throws -> Bool {
        guard age < span else { return true }
        guard let seq = present.seq, let at = present.at else { return false }
        let start = WallTime(
            microseconds: max(0, at.microseconds - (span - age).wholeMicroseconds)
        )
        // Where the machine was then: the last change before that has to have led to one of them.
        guard let last = try await self.newest(before: .time(start))?.seq, last < seq,
            try await self.newest(
                only: self.patterns,
                after: .seq(last - 1),
                before: .seq(last + 1)
            )
                != nil
        else { return false }
        for others in self.others {
            let other = try await self.newest(
                only: others,
                after: .seq(last),
                before: .seq(seq + 1)
            )
            if other != nil { return false }
        }
        return true
    }

    /// Patterns for all other states: those that no pattern selects, and those that one excepts.
    private var others: [[Pattern]] {
        let taken = self.patterns.filter(\.isException).map { !$0 }
        let selected = self.patterns.filter { !$0.isException }.map { !$0 }
        return [selected, taken].filter { !$0.isEmpty }
    }

    /// The newest of the changes that are asked for; nil if there is none.
    private func newest(
        only: [Pattern] = [],
        after: HistoryPlace? = nil,
        before: HistoryPlace
    ) async throws -> Line? {
        var found: Line?
        let request = Request.history(
            limit: 1,
            only: only,
            order: .newest,
            after: after,
            before: before
        )
        _ = try await self.client.changes(request) { found = $0 }
        return found
    }
}

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

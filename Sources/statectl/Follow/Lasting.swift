import StateMachineClient
import StateMachineCore
import StateMachineProtocol

/// Tells when the state that a machine is in has lasted for long.
///
/// Guarded state: `state`, behind its lock.
final class StayTimer: Sendable {
    /// A stay that may come to last long.
    struct Stay: Equatable {
        /// What tells it from others; nil if the daemon has to be asked for it.
        let number: UInt64?
        /// When it has lasted for that long.
        let due: ContinuousClock.Instant
    }

    /// The stay that is noted, and the number of the last one that was reported.
    private let state = Lock<(stay: Stay?, reported: UInt64?)>((nil, nil))
    private let bell = Doorbell()

    /// Notes in which stay the machine is, nil for none whose length counts, unless the one that is noted has that
    /// number; none may be due before the one that it replaces.
    func note(_ stay: Stay?, unlessIn number: UInt64? = nil) {
        self.state.withLock { if number == nil || $0.stay?.number != number { $0.stay = stay } }
        self.bell.ring()
    }

    /// The daemon's line for the next stay that has lasted long, each once.
    ///
    /// `present` asks for the present state and its stay; nil if it is none of those meant.
    func next(_ present: () async throws -> (line: Line, stay: Stay)?) async throws -> Line {
        var rings = self.bell.rings.makeAsyncIterator()
        repeat {
            while let stay = self.pending {
                try await Task.sleep(until: stay.due, clock: QuietClock())
                // Another began meanwhile, whose time comes later.
                guard self.pending == stay else { continue }
                let found: (line: Line, stay: Stay)?
                do {
                    found = try await present()
                } catch is ClientError {
                    // The watch reports that the daemon is gone, and what it is in when it is back.
                    found = nil
                }
                let isOver = self.state.withLock { state in
                    if let found, found.stay.number == stay.number, stay.number != nil {
                        state.reported = stay.number
                        return true
                    }
                    // A line with the new state is on its way, unless only the daemon could say
                    // which it is.
                    if state.stay == stay { state.stay = stay.number == nil ? found?.stay : nil }
                    return false
                }
                if isOver, let found { return found.line }
            }
        } while await rings.next() != nil
        throw CancellationError()
    }

    /// The stay to be waited for.
    private var pending: Stay? {
        self.state.withLock { state in
            state.stay.flatMap { $0.number == nil || $0.number != state.reported ? $0 : nil }
        }
    }
}

/// Reports each stay in a state once, when it has lasted for too long.
struct StuckWatch: Sendable {
    /// Asked whether the state is still the same when the time has come.
    let client: Client
    /// Which states; none means every state.
    let patterns: [Pattern]
    /// How long a stay may last.
    let span: Duration
    private let timer = StayTimer()

    /// Takes a line of the watch; replayed lines count once all of them have been shown.
    func lineReceived(_ line: Line) {
        switch line.kind {
        case .change where line.isReplay: self.timer.note(nil)
        case .state where !line.isSelected: self.timer.note(nil)
        // How long it has lasted already is for the daemon to say.
        case .live, .state: self.timer.note(StayTimer.Stay(number: nil, due: .now))
        case .change:
            let number = line.stay ?? line.seq
            // An update belongs to the same stay.
            let isNew = number == line.seq
            let stay = StayTimer.Stay(
                number: isNew ? number : nil,
                due: isNew ? .now.advanced(by: self.span) : .now
            )
            self.timer.note(stay, unlessIn: number)
        case .beat, .reply, .declared, .ask, .bye, .other: break
        }
    }

    /// Calls `body` with the daemon's answer for each stay that lasts too long, until the task is cancelled.
    func run(_ body: (Line) throws -> Void) async throws {
        while true { try body(try await self.timer.next(self.present)) }
    }

    private func present() async throws -> (Line, StayTimer.Stay)? {
        let line = try await self.client.accepted(.get)
        if !self.patterns.isEmpty {
            let reply = try await self.client.look(for: self.patterns)
            guard reply.isOK == true, reply.seq == line.seq else { return nil }
        }
        let left = self.span - (try await self.client.stayAge(of: line))
        let due = ContinuousClock.now.advanced(by: left)
        return (line, StayTimer.Stay(number: line.stay ?? line.seq, due: due))
    }
}

/// A wait for one of some states to last.
struct LastingWait: Sendable {
    let client: Client
    let patterns: [Pattern]
    var fail: [Pattern] = []
    /// How long it has to last without a break.
    let span: Duration
    var isPatient = false

    /// The line that shows the state which has lasted.
    ///
    /// - Throws: ``ClientError``, also for a state that ends the wait badly, or `CancellationError`.
    func run() async throws -> Line {
        // What happened between two waits is evaluated by the second.
        var (cursor, isPatient) = (nil as String?, self.isPatient)
        while true {
            let reached: Line
            defer { isPatient = true }
            do {
                reached = try await self.client.waitReporting(
                    until: self.patterns,
                    fail: self.fail,
                    since: cursor,
                    isPatient: isPatient
                )
                .accepted()
            } catch ClientError.lostForGood {
                // A daemon that was there once is waited for without an end.
                continue
            }
            do {
                if let lasted = try await self.lasted(reached, &cursor) { return lasted }
            } catch let error as ClientError {
                if case .refused(let reply) = error, reply.error != .shuttingDown { throw error }
            }
        }
    }

    /// The line that shows that it has lasted; nil if it has not.
    ///
    /// The cursor moves behind what is known.
    private func lasted(_ reached: Line, _ cursor: inout String?) async throws -> Line? {
        let age = try await self.client.age(of: reached)
        let due = ContinuousClock.now.advanced(by: self.span - age)
        cursor = reached.cursor
        while true {
            let reply = try await self.departure(since: cursor, until: due)
            guard reply.error == .timeout else {
                cursor = try reply.accepted().cursor
                return nil
            }
            let present = try await self.client.accepted(.get)
            // Where the numbering has begun again, nothing is known of what was before.
            guard present.epoch == reached.epoch else {
                cursor = nil
                return nil
            }
            if present.seq == reply.seq { return present }
        }
    }

    /// The reply that shows another state, one that ends the wait badly, or that neither came until then.
    private func departure(
        since cursor: String?,
        until due: ContinuousClock.Instant
    ) async throws -> Line {
        let left = max(.zero, ContinuousClock.now.duration(to: due))
        return try await Race.run(
            self.patterns.others.map { others in
                {
                    try await self.client.waitReporting(
                        until: others,
                        fail: self.fail,
                        since: cursor,
                        timeout: left,
                        isPatient: true
                    )
                }
            }
        )
    }
}

extension Client {
    /// Waits for a state, and says on standard error when the daemon is gone and when it is back.
    func waitReporting(
        until patterns: [Pattern],
        fail: [Pattern],
        since: String?,
        timeout: Duration? = nil,
        isPatient: Bool = false
    ) async throws -> Line {
        try await self.wait(
            until: patterns,
            fail: fail,
            since: since,
            timeout: timeout,
            isPatient: isPatient,
            interrupted: { error, attempt, _ in
                guard attempt == 1 else { return }
                // A daemon unreachable at the first attempt has not been there yet.
                let isAwaited = if case .unreachable = error { true } else { false }
                StandardError.say(isAwaited ? error.awaiting : error.reconnecting)
            },
            reconnected: { StandardError.say("connected") }
        )
    }
}

extension Line {
    /// The numbering that it is of.
    fileprivate var epoch: Epoch? { self.cursor.flatMap { Cursor($0) }?.epoch }
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
        guard let last = try await self.newest([], before: .time(start))?.seq, last < seq,
            try await self.newest(self.patterns, after: last - 1, before: .seq(last + 1)) != nil
        else { return false }
        for others in self.patterns.others {
            let other = try await self.newest(others, after: last, before: .seq(seq + 1))
            if other != nil { return false }
        }
        return true
    }

    /// The newest change to one of those states between two places; nil if there is none.
    private func newest(
        _ only: [Pattern],
        after: UInt64? = nil,
        before: HistoryPlace
    ) async throws -> Line? {
        try await self.client.change(
            .history(
                limit: 1,
                only: only,
                order: .newest,
                after: after.map { .seq($0) },
                before: before
            )
        )
    }
}

extension [Pattern] {
    /// Patterns for all other states: those that no pattern selects, and those that one excepts.
    fileprivate var others: [[Pattern]] {
        let taken = self.filter(\.isException).map { !$0 }
        let selected = self.filter { !$0.isException }.map { !$0 }
        return [selected, taken].filter { !$0.isEmpty }
    }
}

/// How long states have lasted: by the daemon's clock that nobody sets, as far as it tells, else by the wall clock.
extension Line {
    /// How long ago its change was made; zero if the wall clock has been set back.
    func age(at now: WallTime) -> Duration {
        if let age = self.age { return age }
        guard let at = self.at else { return .zero }
        return .microseconds(max(0, now.microseconds - at.microseconds))
    }

    /// When its change was made, by the wall clock as it is now.
    func moment(_ now: WallTime) -> WallTime {
        WallTime(microseconds: now.microseconds - self.age(at: now).wholeMicroseconds)
    }
}

extension Client {
    /// How long ago the change in a line was made.
    func age(of line: Line) async throws -> Duration {
        let present = try await self.accepted(.get)
        guard let newest = present.at, let at = line.at else { return .zero }
        return present.age(at: .now)
            + .microseconds(max(0, newest.microseconds - at.microseconds))
    }

    /// How long the stay has lasted that an answer to `get` shows.
    func stayAge(of present: Line) async throws -> Duration {
        if let age = present.stayAge { return age }
        let age = present.age(at: .now)
        guard let stay = present.stay, stay != present.seq, let newest = present.at else {
            return age
        }
        // It began before the daemon did, and has been updated since.
        let first = try await self.change(
            .history(limit: 1, order: .newest, before: .seq(stay + 1))
        )
        guard first?.seq == stay, let began = first?.at else { return age }
        return age + .microseconds(max(0, newest.microseconds - began.microseconds))
    }
}

import StateMachineClient
import StateMachineCore

/// Reports each stay in a state once, when it has lasted for too long.
///
/// Guarded state: `stay`, behind its lock.
final class StuckWatch: Sendable {
    /// A stay that may come to last too long.
    private struct Stay: Equatable {
        /// The seq that began it, or the seq of its change if the machine has no stays; nil if the
        /// daemon has to be asked for it.
        let number: UInt64?
        /// When it has lasted for that long.
        let due: ContinuousClock.Instant
    }

    private let client: Client
    private let patterns: [Pattern]
    private let span: Duration
    private let stay = Lock<Stay?>(nil)
    private let wishes: AsyncStream<Void>
    private let wish: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - client: asked whether the state is still the same when the time has come.
    ///   - patterns: which states; none means every state.
    ///   - span: how long a stay may last.
    init(_ client: Client, patterns: [Pattern], span: Duration) {
        self.client = client
        self.patterns = patterns
        self.span = span
        (self.wishes, self.wish) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Takes a line of the watch; replayed lines count once all of them have been shown.
    func lineReceived(_ line: Line) {
        switch line.kind {
        case .change where line.isReplay: self.stay.withLock { $0 = nil }
        case .state where !line.isSelected: self.stay.withLock { $0 = nil }
        // How long it has lasted already is for the daemon to say.
        case .live, .state: self.stay.withLock { $0 = Stay(number: nil, due: .now) }
        case .change:
            let number = line.stay ?? line.seq
            // An update belongs to the same stay.
            let isNew = line.stay == nil || line.stay == line.seq
            let stay = Stay(
                number: isNew ? number : nil,
                due: isNew ? .now.advanced(by: self.span) : .now
            )
            self.stay.withLock { if $0?.number != number { $0 = stay } }
        case .beat, .reply, .declared, .ask, .bye, .other: return
        }
        self.wish.yield()
    }

    /// Calls `body` with the daemon's answer for each stay that lasts too long, until the task is cancelled.
    func run(_ body: (Line) throws -> Void) async throws {
        var said: UInt64?
        for await _ in self.wishes {
            while let stay = self.stay.withLock({ $0 }), stay.number == nil || stay.number != said {
                try await Task.sleep(until: stay.due, clock: QuietClock())
                // Another began meanwhile, whose time comes later.
                guard self.stay.withLock({ $0 == stay }) else { continue }
                let (line, present) = try await self.present()
                if let present, let line, present.number == stay.number, present.number != said {
                    said = present.number
                    try body(line)
                } else {
                    // A line with the new state is on its way, unless only the daemon could say
                    // which it is.
                    self.stay.withLock {
                        if $0 == stay { $0 = stay.number == nil ? present : nil }
                    }
                }
            }
        }
    }

    /// The present state and its stay, if it is one of those meant; nil if not, or if nobody can be asked.
    private func present() async throws -> (Line?, Stay?) {
        do {
            let line = try await self.client.accepted(.get)
            if !self.patterns.isEmpty {
                let wait = Request.wait(until: self.patterns, timeout: .zero)
                let reply = try await self.client.reply(to: wait)
                guard reply.isOK == true, reply.seq == line.seq else { return (nil, nil) }
            }
            let left = self.span - (try await self.client.stayAge(of: line))
            return (line, Stay(number: line.stay ?? line.seq, due: .now.advanced(by: left)))
        } catch is ClientError {
            // The watch reports that the daemon is gone.
            return (nil, nil)
        }
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
        var first: Line?
        let request = Request.history(limit: 1, order: .newest, before: .seq(stay + 1))
        _ = try await self.changes(request) { first = $0 }
        guard first?.seq == stay, let began = first?.at else { return age }
        return age + .microseconds(max(0, newest.microseconds - began.microseconds))
    }
}

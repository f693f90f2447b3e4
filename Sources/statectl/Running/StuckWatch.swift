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

import StateMachineProtocol

/// Decides what a watch does when its connection ends, and where it goes on; it has no effects.
struct Resumption: Sendable {
    /// The number of refusals in a row to open the door after which they are believed.
    ///
    /// 5: a daemon that starts has its socket before the socket has its mode; that passes within
    /// the first pause.
    private static let denialLimit = 5

    /// Whether to wait for a daemon that was never reached.
    let isPatient: Bool
    /// Where the next subscription begins.
    private(set) var cursor: String?
    private var backoff = Backoff()
    /// Whether a daemon has ever answered.
    private(set) var isKnown = false
    private var denials = 0

    init(since cursor: String?, isPatient: Bool) {
        self.cursor = cursor
        self.isPatient = isPatient
    }

    var attempts: Int { self.backoff.attempts }

    /// Notes that there is a daemon and that it let us in.
    mutating func hasAnswered() {
        self.isKnown = true
        self.denials = 0
        self.backoff.reset()
    }

    /// Notes a received line that tells the state.
    mutating func lineReceived(_ line: Line) {
        self.hasAnswered()
        if let cursor = line.cursor { self.cursor = cursor }
    }

    /// How long to wait after the connection ended, or none could be made; nil: trying again cannot
    /// help.
    mutating func connectionFailed(
        _ error: ClientError,
        using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        switch error {
        case .notFound, .noInstance, .pathTooLong, .malformed, .lineTooLong, .lostForGood,
            .timedOut:
            return nil
        case .refused(let line):
            guard line.isOfNoDaemonYet else { return nil }
        case .notPermitted:
            self.denials += 1
            guard self.isKnown, self.denials < Self.denialLimit else { return nil }
        case .unreachable, .silent:
            guard self.isKnown || self.isPatient else { return nil }
        case .lost, .crowded: break
        case .dismissed(let line):
            return self.backoff.next(asked: line.retryDelay, using: &generator)
        }
        return self.backoff.next(using: &generator)
    }
}

/// How long to wait before the next attempt to connect: longer each time, and never the same for
/// two clients, so that a daemon that comes back does not meet all of them at once.
package struct Backoff: Sendable {
    /// 100 ms: a restart takes about as long.
    private static let first = Duration.milliseconds(100)
    /// 5 s: a daemon that is back is noticed soon, and one attempt costs nothing.
    private static let longest = Duration.seconds(5)

    private(set) var attempts = 0

    package init() {}

    /// The next pause: between a half of the step and the whole of it, or longer if the daemon asked
    /// for that.
    package mutating func next(
        asked: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let step = min(Self.longest, Self.first * (1 << min(self.attempts, 6)))
        self.attempts += 1
        let jitter = Double.random(in: 0.5...1, using: &generator)
        // A daemon that asks for more than the longest pause is not believed.
        return max(step * jitter, min(asked ?? .zero, Self.longest) * (1.5 - jitter / 2))
    }

    /// Starts over with the shortest pause, as a connection works again.
    package mutating func reset() { self.attempts = 0 }
}

extension Line {
    /// Whether whoever waits, or watches, is refused as if nobody was there yet: the daemon goes down, or has not seen the machine
    /// that it shares.
    var isOfNoDaemonYet: Bool { self.error == .shuttingDown || self.error == .unavailable }
}

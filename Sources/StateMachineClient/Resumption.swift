import StateMachineProtocol

/// Decides what a watch does when its connection ends, and where it goes on; it has no effects.
struct Resumption: Sendable {
    /// The number of refusals in a row to open the door after which they are believed.
    ///
    /// 5: a daemon that starts has its socket before the socket has its mode; that passes within
    /// the first pause.
    private static let denialLimit = 5

    enum Step: Equatable {
        case retry(after: Duration)
        case giveUp
    }

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

    /// Decides what to do after the connection ended, or none could be made.
    mutating func connectionFailed(
        _ error: ClientError,
        using generator: inout some RandomNumberGenerator
    ) -> Step {
        switch error {
        case .notFound, .noInstance, .pathTooLong, .malformed, .lineTooLong, .lostForGood,
            .timedOut:
            return .giveUp
        case .refused(let line):
            guard line.error == .shuttingDown else { return .giveUp }
            return .retry(after: self.backoff.next(using: &generator))
        case .notPermitted:
            self.denials += 1
            guard self.isKnown, self.denials < Self.denialLimit else { return .giveUp }
            return .retry(after: self.backoff.next(using: &generator))
        case .unreachable, .silent:
            guard self.isKnown || self.isPatient else { return .giveUp }
            return .retry(after: self.backoff.next(using: &generator))
        case .lost, .crowded:
            return .retry(after: self.backoff.next(using: &generator))
        case .dismissed(let line):
            return .retry(after: self.backoff.next(asked: line.retryDelay, using: &generator))
        }
    }
}

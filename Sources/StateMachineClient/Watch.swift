public import StateMachineProtocol

/// Everything that happens to the state, in order, over as many connections as it takes.
///
/// Each iteration is a subscription of its own. Once it is established, a lost connection is made
/// again with growing pauses, for ever, and the watch goes on after the last line received; a gap
/// that could not be filled shows as a line with ``Line/resync``.
public struct Watch: AsyncSequence, Sendable {
    /// What the watch gives.
    public enum Event: Hashable, Sendable {
        /// A line of the watch.
        case line(Line)
        /// A state that ends the watch was reached; the last event. The line is the daemon's reply
        /// to a wait, not one of the watch's own.
        case reached(Line)
        /// There is no connection; the next attempt, counted from 1, follows after that pause.
        ///
        /// If the daemon said farewell, the error is ``ClientError/dismissed(_:)`` with its line.
        case interrupted(ClientError, attempt: Int, retryingIn: Duration)
    }

    /// The request ID of the wait for the end; the watch has none.
    private static let endID: RequestID = "until"

    let client: Client
    /// The cursor after which each iteration begins; nil for the present state.
    package var since: String?
    let only: [Pattern]
    let pace: Pace
    let end: [Pattern]
    let isPatient: Bool
    let clock: any Clock<Duration>

    /// Begins a subscription with the first call of `next()`.
    public func makeAsyncIterator() -> Subscription<Event> {
        Subscription(
            self.client,
            clock: self.clock,
            resumption: Resumption(since: self.since, isPatient: self.isPatient),
            requests: self.requests,
            interrupted: Event.interrupted
        ) { line, _ in
            guard line.kind == .reply else { return .event(.line(line)) }
            guard line.id == Self.endID else { return .refusal }
            if line.isOK == true { return .end(.reached(line)) }
            // A daemon that goes down ends the wait first and then says farewell.
            return line.error == .shuttingDown ? .nothing : .refusal
        }
    }

    @Sendable private func requests(since cursor: String?) -> [Request] {
        let watch = Request.watch(since: cursor, only: self.only, pace: self.pace)
        guard !self.end.isEmpty else { return [watch] }
        // The watch goes first: a reply then follows the watch's lines up to it.
        return [watch, .wait(until: self.end, since: cursor).called(Self.endID)]
    }
}

extension Client {
    /// Everything that happens to the state from now on, or from a cursor on.
    ///
    /// - Parameters:
    ///   - since: the cursor of the last line that was seen; later changes are replayed.
    ///   - only: which states; none means every state.
    ///   - pace: how often lines are sent.
    ///   - end: the states that end the watch once one is reached, or was reached since the cursor;
    ///     none means that it does not end. Lines held back by `pace` are not waited for.
    ///   - isPatient: whether to wait for a daemon that is not there to begin with.
    ///   - clock: what the pauses between attempts are measured with.
    /// - Returns: the watch; each iteration over it subscribes anew.
    public func watch(
        since: String? = nil,
        only: [Pattern] = [],
        pace: Pace = Pace(),
        until end: [Pattern] = [],
        isPatient: Bool = false,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> Watch {
        Watch(
            client: self,
            since: since,
            only: only,
            pace: pace,
            end: end,
            isPatient: isPatient,
            clock: clock
        )
    }
}

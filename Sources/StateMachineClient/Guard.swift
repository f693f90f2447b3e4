public import StateMachineProtocol

/// A guard: asks whether states may be entered, for as long as an iteration over it goes on.
///
/// A lost connection is made again with growing pauses, for ever, and the guard is registered anew:
/// until then it is not asked, and states count as allowed, or, if it is required, as denied.
public struct Guard: AsyncSequence, Sendable {
    /// What happens to the guard.
    public enum Event: Sendable {
        /// The guard is asked from here on; its number differs on each connection.
        case registered(UInt64)
        /// A set waits for a vote.
        case asked(Question)
        /// The guard is not asked; the next attempt, counted from 1, follows after that pause.
        case interrupted(ClientError, attempt: Int, retryingIn: Duration)
    }

    /// Whether a state may be entered.
    public struct Question: Sendable {
        /// The line that asks: the present state, ``Line/destination``, ``Line/by``, ``Line/cause``
        /// and ``Line/timeLeft``.
        public let line: Line
        /// The question's number.
        public let number: UInt64
        let connection: Connection

        /// Answers; a vote that comes too late, or twice, does nothing.
        ///
        /// - Parameters:
        ///   - allow: whether the state may be entered.
        ///   - why: the reason for the client that is refused; at most 256 bytes of UTF-8.
        /// - Throws: ``ClientError/lost(path:)`` if the connection that asked is closed.
        public func vote(allow: Bool, why: String? = nil) async throws(ClientError) {
            let request = Request.vote(self.number, allow: allow, why: why)
            try await self.connection.send(request.called(Guard.voteID))
        }
    }

    /// The request ID of votes, which tells their replies from the registration's.
    private static let voteID: RequestID = "vote"

    let client: Client
    let request: Request
    let clock: any Clock<Duration>
    /// Whether to wait for a daemon that was never reached.
    package var isPatient = false

    /// Registers the guard with the first call of `next()`.
    public func makeAsyncIterator() -> Subscription<Event> {
        let request = self.request
        return Subscription(
            self.client,
            clock: self.clock,
            resumption: Resumption(since: nil, isPatient: self.isPatient),
            requests: { _ in [request] },
            interrupted: Event.interrupted,
            read: { line, connection in
                if line.kind == .ask, let number = line.ask {
                    return .event(
                        .asked(Question(line: line, number: number, connection: connection))
                    )
                }
                guard line.kind == .reply, line.id == nil else { return .nothing }
                guard line.isOK == true, let number = line.guard else { return .refusal }
                return .event(.registered(number))
            }
        )
    }
}

extension Client {
    /// A guard before the states that match one of the patterns.
    ///
    /// - Parameters:
    ///   - before: the states.
    ///   - timeout: how long the daemon waits for a vote.
    ///   - onTimeout: what silence counts as; nil leaves it to the daemon, whose default is a yes.
    ///   - why: the reason for a no that gives none; at most 256 bytes of UTF-8.
    ///   - name: the name of a required guard: the states are denied while no guard of that name is
    ///     connected, until it is released; nil if its absence allows them.
    ///   - clock: what the pauses between attempts are measured with.
    /// - Returns: the guard; each iteration over it registers one.
    public func `guard`(
        before: [Pattern],
        timeout: Duration? = nil,
        onTimeout: Request.Silence? = nil,
        why: String? = nil,
        required name: String? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> Guard {
        let request = Request.guard(
            before: before,
            timeout: timeout,
            onTimeout: onTimeout,
            why: why,
            required: name
        )
        return Guard(client: self, request: request, clock: clock)
    }
}

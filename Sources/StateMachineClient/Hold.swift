public import StateMachineProtocol

/// A hold: keeps states from being entered, for as long as an iteration over it goes on.
///
/// A lost connection is made again with growing pauses, for ever, and the hold is taken again: until
/// then a daemon that has a history holds it, for ten seconds after its start, and another does not. The hold ends when the iteration does, or its task is cancelled.
public struct Hold: AsyncSequence, Sendable {
    /// What happens to the hold.
    public enum Event: Hashable, Sendable {
        /// The states are held from here on; the hold's number differs on each connection.
        case taken(UInt64)
        /// The connection is lost; the next attempt, counted from 1, follows after that pause.
        case interrupted(ClientError, attempt: Int, retryingIn: Duration)
    }

    let client: Client
    let request: Request
    let clock: any Clock<Duration>
    /// Whether to wait for a daemon that was never reached.
    package var isPatient = false
    /// Called with the connection each time that it is taken on one, before ``Event/taken(_:)`` comes.
    package var taken: @Sendable (Connection) -> Void = { _ in }

    /// Takes the hold with the first call of `next()`.
    public func makeAsyncIterator() -> Subscription<Event> {
        let (request, taken) = (self.request, self.taken)
        return Subscription(
            self.client,
            clock: self.clock,
            resumption: Resumption(since: nil, isPatient: self.isPatient),
            requests: { _ in [request] },
            interrupted: Event.interrupted,
            read: { line, connection in
                guard line.kind == .reply, line.id == nil else { return .nothing }
                guard line.isOK == true, let number = line.hold else { return .refusal }
                taken(connection)
                return .event(.taken(number))
            }
        )
    }
}

extension Client {
    /// A hold on the states that match one of the patterns.
    ///
    /// - Parameters:
    ///   - before: the states.
    ///   - mode: what happens to a set.
    ///   - limit: how long a set is delayed at most; only for ``Request/HoldMode/delay``.
    ///   - why: the reason for the client that is refused; at most 256 bytes of UTF-8.
    ///   - clock: what the pauses between attempts are measured with.
    /// - Returns: the hold; each iteration over it takes one.
    public func hold(
        before: [Pattern],
        mode: Request.HoldMode = .block,
        limit: Duration? = nil,
        why: String? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> Hold {
        let request = Request.hold(before: before, mode: mode, limit: limit, why: why)
        return Hold(client: self, request: request, clock: clock)
    }
}

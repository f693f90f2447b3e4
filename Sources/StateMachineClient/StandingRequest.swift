import StateMachineProtocol

/// A request that is granted for as long as its connection lives (a hold or a guard), made again
/// over as many connections as it takes.
struct StandingRequest {
    /// What happens to it.
    enum Event {
        /// The request is in force, under a number that differs on each connection.
        case granted(UInt64)
        /// A line that does not answer the request.
        case line(Line, Connection)
        /// The request is not in force; the next attempt, counted from 1, follows after that pause.
        case interrupted(ClientError, attempt: Int, retryingIn: Duration)
    }

    private let number: any KeyPath<Line, UInt64?> & Sendable
    private var subscription: Subscription

    /// - Parameters:
    ///   - request: without an id, which tells its reply from others on the connection.
    ///   - client: whose control door is used.
    ///   - number: where the reply has the number.
    ///   - clock: what the pauses between attempts are measured with.
    init(
        _ request: Request,
        of client: Client,
        number: any KeyPath<Line, UInt64?> & Sendable,
        clock: any Clock<Duration>
    ) {
        self.number = number
        self.subscription = Subscription(
            client,
            clock: clock,
            resumption: Resumption(since: nil, isPatient: false)
        ) { _ in [request] }
    }

    /// The next event; never nil.
    ///
    /// - Throws: ``ClientError`` where trying again cannot help: the daemon refuses the request, the
    ///   door may not be opened, or no daemon was there to begin with. `CancellationError` if the
    ///   task is cancelled.
    mutating func next() async throws -> Event? {
        guard var event = try await self.subscription.next() else { return nil }
        if case .line(let line, _) = event, line.kind == .reply, line.id == nil {
            if line.isOK == true, let number = line[keyPath: self.number] {
                return .granted(number)
            }
            event = try self.subscription.failed(.refused(line))
        }
        switch event {
        case .line(let line, let connection): return .line(line, connection)
        case .interrupted(let error, let attempt, let pause):
            return .interrupted(error, attempt: attempt, retryingIn: pause)
        }
    }
}

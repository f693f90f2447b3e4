import NIOCore
import StateMachineCore
import StateMachineProtocol

/// A request that lasts as long as its connection, made again over as many connections as it takes.
struct Subscription {
    /// What happens to it.
    enum Event {
        /// A line that is not a farewell.
        case line(Line, Connection)
        /// There is no connection; the next attempt, counted from 1, follows after that pause.
        case interrupted(ClientError, attempt: Int, retryingIn: Duration)
    }

    private enum Stage {
        case disconnected
        case pausing(Duration)
        case asked(Dialogue, Vigil)
        case answered(Dialogue)
        case ended
    }

    private let client: Client
    private let clock: any Clock<Duration>
    private let requests: @Sendable (_ since: String?) -> [Request]
    private var resumption: Resumption
    private var stage = Stage.disconnected
    private var random = SystemRandomNumberGenerator()

    /// - Parameters:
    ///   - client: whose doors are used.
    ///   - clock: what the pauses between attempts are measured with.
    ///   - resumption: where to begin.
    ///   - requests: what is sent on each connection, given the cursor of the last line.
    init(
        _ client: Client,
        clock: any Clock<Duration>,
        resumption: Resumption,
        requests: @escaping @Sendable (_ since: String?) -> [Request]
    ) {
        self.client = client
        // Dispatch wakes up every second for one that has slept by the usual clock.
        self.clock = clock is ContinuousClock ? QuietClock() : clock
        self.resumption = resumption
        self.requests = requests
    }

    /// The next event; nil once it has ended.
    ///
    /// - Throws: ``ClientError`` where trying again cannot help, or `CancellationError`.
    mutating func next() async throws -> Event? {
        while true {
            do {
                switch self.stage {
                case .ended:
                    return nil
                case .pausing(let pause):
                    try await self.clock.sleep(for: pause)
                    self.stage = .disconnected
                case .disconnected:
                    self.stage = try await self.connect()
                case .asked(let dialogue, let vigil):
                    defer { vigil.end() }
                    let line = try await dialogue.next()
                    self.stage = .answered(dialogue)
                    return self.event(line, dialogue)
                case .answered(let dialogue):
                    return self.event(try await dialogue.next(), dialogue)
                }
            } catch let error as ClientError {
                return try self.failed(error)
            } catch {
                self.stage = .ended
                throw error
            }
        }
    }

    /// Notes that the daemon refused the request, and drops the connection.
    ///
    /// - Throws: the error, unless trying again may help.
    mutating func failed(_ error: ClientError) throws -> Event {
        switch self.resumption.connectionFailed(error, using: &self.random) {
        case .giveUp:
            self.stage = .ended
            throw error
        case .retry(let pause):
            self.stage = .pausing(pause)
            return .interrupted(error, attempt: self.resumption.attempts, retryingIn: pause)
        }
    }

    /// Ends the events and drops the connection.
    mutating func end() { self.stage = .ended }

    private func connect() async throws -> Stage {
        let requests = self.requests(self.resumption.cursor)
        let isReading = requests.allSatisfy(\.operation.isReading)
        let dialogue = try await self.client.dialogue(isReading: isReading)
        let vigil = Vigil(over: dialogue.connection, of: self.client)
        for request in requests { try await dialogue.send(request) }
        return .asked(dialogue, vigil)
    }

    private mutating func event(_ line: Line, _ dialogue: Dialogue) -> Event {
        // A refusal gives nothing to resume from.
        if line.isOK != false { self.resumption.lineReceived(line) }
        return .line(line, dialogue.connection)
    }
}

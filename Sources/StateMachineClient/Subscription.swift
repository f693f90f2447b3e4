import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Requests that last as long as their connection, made again over as many connections as it takes.
public struct Subscription<Event>: AsyncIteratorProtocol {
    /// What a line that is not a farewell means.
    enum Reading {
        case event(Event)
        /// The last event.
        case end(Event)
        case nothing
        /// The daemon refuses a request.
        case refusal
    }

    private enum Stage {
        case disconnected
        case pausing(Duration)
        /// With a vigil until the first line has come.
        case asked(Dialogue, Vigil?)
        case ended
    }

    private let client: Client
    private let clock: any Clock<Duration>
    private let requests: @Sendable (_ since: String?) -> [Request]
    private let interrupted: (ClientError, _ attempt: Int, _ retryingIn: Duration) -> Event
    private let read: (Line, Connection) -> Reading
    private var resumption: Resumption
    private var stage = Stage.disconnected
    private var random = SystemRandomNumberGenerator()

    /// - Parameters:
    ///   - client: whose doors are used.
    ///   - clock: what the pauses between attempts are measured with.
    ///   - resumption: where to begin.
    ///   - requests: what is sent on each connection, given the cursor of the last line.
    ///   - interrupted: the event of a lost connection; the next attempt, counted from 1, follows after that pause.
    ///   - read: what a line means.
    init(
        _ client: Client,
        clock: any Clock<Duration>,
        resumption: Resumption = Resumption(since: nil, isPatient: false),
        requests: @escaping @Sendable (_ since: String?) -> [Request],
        interrupted: @escaping (ClientError, Int, Duration) -> Event,
        read: @escaping (Line, Connection) -> Reading
    ) {
        self.client = client
        self.clock = clock.quiet
        self.resumption = resumption
        self.requests = requests
        self.interrupted = interrupted
        self.read = read
    }

    /// The next event; nil once it has ended, as only a watch does, after ``Watch/Event/reached(_:)``.
    ///
    /// - Throws: ``ClientError`` where trying again cannot help: the daemon refuses what is asked for, the door may not
    ///   be opened, or no daemon was there to begin with. `CancellationError` if the task is cancelled.
    public mutating func next() async throws -> Event? {
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
                    let line: Line
                    do {
                        line = try await dialogue.next()
                    } catch {
                        await vigil?.end()
                        throw error
                    }
                    await vigil?.end()
                    self.stage = .asked(dialogue, nil)
                    if let event = try self.event(line, dialogue) { return event }
                }
            } catch let error as ClientError {
                return try self.failed(error)
            } catch {
                self.stage = .ended
                throw error
            }
        }
    }

    /// Drops the connection.
    ///
    /// - Throws: the error, unless trying again may help.
    private mutating func failed(_ error: ClientError) throws -> Event {
        guard let pause = self.resumption.connectionFailed(error, using: &self.random) else {
            self.stage = .ended
            throw error
        }
        self.stage = .pausing(pause)
        return self.interrupted(error, self.resumption.attempts, pause)
    }

    private func connect() async throws -> Stage {
        let requests = self.requests(self.resumption.cursor)
        let isReading = requests.allSatisfy(\.operation.isReading)
        let dialogue = try await self.client.dialogue(isReading: isReading)
        let vigil = Vigil(over: dialogue.connection, of: self.client)
        for request in requests { try await dialogue.send(request) }
        return .asked(dialogue, vigil)
    }

    /// The event of a line; nil if it means nothing.
    private mutating func event(_ line: Line, _ dialogue: Dialogue) throws -> Event? {
        // A refusal gives nothing to resume from.
        if line.isOK != false { self.resumption.lineReceived(line) }
        switch self.read(line, dialogue.connection) {
        case .event(let event): return event
        case .nothing: return nil
        case .refusal: throw ClientError.refused(line)
        case .end(let event):
            self.stage = .ended
            return event
        }
    }
}

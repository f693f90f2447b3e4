public import NIOCore
public import NIOPosix
@_exported public import StateMachineProtocol

/// What a program that talks to a daemon holds: where the daemon is, and what it may be asked.
///
/// Each call makes a connection of its own and closes it.
///
/// ```swift
/// let client = Client(try RuntimeDirectory.discover())
/// for try await event in client.watch() {
///     if case .line(let line) = event { print(line.text) }
/// }
/// ```
public struct Client: Sendable {
    /// How long a daemon may take for an answer that it has at hand.
    ///
    /// 10 s: what it says at once; a stopped process is the only reason to be later.
    public static let answerLimit = Duration.seconds(10)

    /// Attempts to get into a full queue of connections.
    ///
    /// 6: some five seconds in all; a daemon accepts hundreds in that time.
    private static let throngLimit = 6

    /// Where the daemon's sockets are.
    public let directory: RuntimeDirectory
    private let group: any EventLoopGroup

    /// A client of the daemon in that directory; nothing is connected yet.
    public init(
        _ directory: RuntimeDirectory,
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.directory = directory
        self.group = group
    }

    /// Connects to that door, more than once if there is a throng before it.
    ///
    /// - Throws: ``ClientError``, or `CancellationError`.
    public func connect(to door: Door) async throws -> Connection {
        let path = self.directory.socketPath(of: door)
        var backoff = Backoff()
        var random = SystemRandomNumberGenerator()
        while true {
            do {
                return try await Connection.open(path, on: self.group)
            } catch {
                guard error == .crowded(path: path), backoff.attempts < Self.throngLimit else {
                    throw error
                }
            }
            try await Task.sleep(for: backoff.next(using: &random))
        }
    }

    /// Asks once.
    ///
    /// - Parameters:
    ///   - request: one that has one reply. Any but `set` and those about holds and guards is taken
    ///     by users too who may only open the events door.
    ///   - limit: after how long a silent daemon is given up; nil means never.
    /// - Returns: the reply, whatever it says.
    /// - Throws: ``ClientError``, or `CancellationError`.
    public func reply(
        to request: Request,
        within limit: Duration? = answerLimit
    ) async throws -> Line {
        let dialogue = try await self.dialogue(isReading: request.operation.isReading)
        let reply = try await dialogue.reply(to: request, within: limit)
        await dialogue.connection.close()
        return reply
    }

    /// Asks once for what the daemon will not refuse.
    ///
    /// - Throws: ``ClientError/refused(_:)`` if it does.
    public func accepted(
        _ request: Request,
        within limit: Duration? = answerLimit
    ) async throws -> Line {
        let reply = try await self.reply(to: request, within: limit)
        guard reply.isOK == true else { throw ClientError.refused(reply) }
        return reply
    }

    /// Connects to the control door, or, if it is only for reading, to whichever door lets us in.
    ///
    /// The events door begins with a watch that nobody asked for here; it is ended, so that from
    /// here on both doors are alike; `limit` is how long that may take.
    func dialogue(
        isReading: Bool,
        within limit: Duration = answerLimit
    ) async throws -> Dialogue {
        do {
            return Dialogue(try await self.connect(to: .control))
        } catch ClientError.notPermitted(let path) {
            guard isReading else { throw ClientError.notPermitted(path: path) }
        }
        let dialogue = Dialogue(try await self.connect(to: .events))
        let reply = try await dialogue.reply(to: .unwatch, within: limit)
        guard reply.isOK == true else { throw ClientError.refused(reply) }
        return dialogue
    }
}

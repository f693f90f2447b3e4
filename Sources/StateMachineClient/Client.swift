public import NIOCore
public import NIOPosix
import StateMachineCore
@_exported public import StateMachineProtocol

/// A daemon's client: knows where the daemon's sockets are, and sends it requests.
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
    /// 10 s: only a stopped process takes longer.
    public static let answerLimit = Duration.seconds(10)

    /// Attempts to connect while the daemon's queue of connections is full.
    ///
    /// 6: some five seconds in all; a daemon accepts hundreds in that time.
    private static let throngLimit = 6

    /// Where the daemon's sockets are.
    public let directory: RuntimeDirectory
    private let group: any EventLoopGroup
    /// How long a daemon that is asked for what may take long shows no sign of life before it counts as silent;
    /// ``answerLimit``, unless a test wants another.
    package var patience = Self.answerLimit

    /// A client of the daemon in that directory; nothing is connected yet.
    public init(
        _ directory: RuntimeDirectory,
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.directory = directory
        self.group = group
    }

    /// Connects to that door, and tries again while its queue of connections is full.
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
            try await QuietClock().sleep(for: backoff.next(using: &random))
        }
    }

    /// Sends one request and returns its reply.
    ///
    /// - Parameters:
    ///   - request: one that has one reply. `set`, `send`, `update` and those about holds and guards
    ///     need the control door; all others also work for users who may only open the events door.
    ///   - limit: after how long to give up on a silent daemon; nil means only once it has shown no sign of life either,
    ///     for ``answerLimit``.
    ///   - stillWaiting: called while no answer has come, with whether the daemon has shown that it lives; only without a
    ///     limit.
    /// - Returns: the reply, whatever it says.
    /// - Throws: ``ClientError``, or `CancellationError`.
    public func reply(
        to request: Request,
        within limit: Duration? = answerLimit,
        stillWaiting: @escaping @Sendable (_ isAlive: Bool) -> Void = { _ in }
    ) async throws -> Line {
        let dialogue = try await self.dialogue(isReading: request.operation.isReading)
        let vigil =
            limit == nil
            ? Vigil(over: dialogue.connection, of: self, stillWaiting: stillWaiting) : nil
        do {
            let reply = try await dialogue.reply(to: request, within: limit)
            await vigil?.end()
            await dialogue.connection.close()
            return reply
        } catch {
            await vigil?.end()
            throw error
        }
    }

    /// Sends one request and returns its reply, which must not be a refusal.
    ///
    /// - Throws: ``ClientError/refused(_:)`` if it does.
    public func accepted(
        _ request: Request,
        within limit: Duration? = answerLimit
    ) async throws -> Line {
        try await self.reply(to: request, within: limit).accepted()
    }

    /// Connects to the control door, or, if it is only for reading, to whichever door lets us in.
    ///
    /// The events door begins with a watch, which is ended here so that both doors behave alike
    /// afterwards; `limit` is how long that may take.
    func dialogue(isReading: Bool, within limit: Duration = answerLimit) async throws -> Dialogue {
        do {
            return Dialogue(try await self.connect(to: .control))
        } catch ClientError.notPermitted(let path) {
            guard isReading else { throw ClientError.notPermitted(path: path) }
        }
        let dialogue = Dialogue(try await self.connect(to: .events))
        let reply = try await dialogue.reply(to: .unwatch, within: limit)
        _ = try reply.accepted()
        return dialogue
    }
}

extension Line {
    /// Those of its members that it has, in that order.
    package func members(_ keys: [String]) -> [JSONMember] {
        keys.compactMap { key in self[key].map { JSONMember(key, $0) } }
    }

    /// The reply itself, which must not be a refusal.
    ///
    /// - Throws: ``ClientError/refused(_:)`` if it is.
    package func accepted() throws(ClientError) -> Line {
        guard self.isOK == true else { throw .refused(self) }
        return self
    }
}

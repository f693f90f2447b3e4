import NIOCore
import StateMachineCore

/// Notices a daemon that does not answer, where an answer may take long: a set waits for votes, a search for what is rare.
///
/// After each ``Client/answerLimit`` without a line the daemon is asked for a sign of life, on a connection of its own at the
/// same door. Without one, the connection that is watched over ends with ``ClientError/silent(path:_:)`` for its reader.
final class Vigil: Sendable {
    /// Whether a line has come since the last look.
    private let heard: SharedFlag
    private let task: Task<Void, Never>

    /// Begins.
    ///
    /// - Parameters:
    ///   - connection: the one that is watched over.
    ///   - client: whose daemon is asked.
    ///   - isAlive: called each time that the daemon has not answered, and lives.
    init(
        over connection: Connection,
        of client: Client,
        isAlive: @escaping @Sendable () -> Void = {}
    ) {
        let heard = SharedFlag()
        self.heard = heard
        self.task = Task(executorPreference: QueueExecutor.shared) {
            let (limit, extra) = (client.patience, client.patience / 2)
            while await QuietClock().hasSlept(limit) {
                if heard.take() { continue }
                if await client.showsLife(at: connection.path, within: extra) {
                    isAlive()
                } else if !heard.take(), !Task.isCancelled {
                    return connection.end(.silent(path: connection.path, limit + extra))
                }
            }
        }
    }

    /// Notes that a line has come.
    func lineReceived() { self.heard.set(true) }

    /// Ends it.
    func end() { self.task.cancel() }

    deinit { self.task.cancel() }
}

extension Client {
    /// Whether anything answers at that socket in time, be it with a refusal.
    fileprivate func showsLife(at path: String, within limit: Duration) async -> Bool {
        let door: Door = path == self.directory.socketPath(of: .events) ? .events : .control
        do {
            let connection = try await self.connect(to: door)
            let deadline = connection.expectAnswer(within: limit)
            defer { deadline.cancel() }
            try await connection.send(.ping)
            // Iterating ends here, which closes the connection.
            for try await _ in connection.lines { return true }
            return false
        } catch {
            return false
        }
    }
}

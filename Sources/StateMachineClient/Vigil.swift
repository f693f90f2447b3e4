import NIOCore
import StateMachineCore

/// Notices a daemon that does not answer, where an answer may take long: a set waits for votes, a search for what is rare.
///
/// After some time without a line the daemon is asked for a sign of life. Without one, the connection that is watched over
/// ends with ``ClientError/silent(path:_:)`` for its reader.
///
/// The sign is asked for on a connection of its own at the same door: behind a search, or a set that a slow disk
/// commits, a daemon that is well answers nothing else, and where many sets wait it reads nothing more.
final class Vigil: Sendable {
    /// Whether a line has come since the last look.
    private let heard: SharedFlag
    private let task: Task<Void, Never>

    /// Begins.
    ///
    /// - Parameters:
    ///   - connection: the one that is watched over.
    ///   - client: whose daemon is asked.
    ///   - stillWaiting: called while no answer has come, with whether the daemon has shown that it lives.
    init(
        over connection: Connection,
        of client: Client,
        stillWaiting: @escaping @Sendable (_ isAlive: Bool) -> Void = { _ in }
    ) {
        let heard = SharedFlag()
        self.heard = heard
        self.task = Task(executorPreference: QueueExecutor.shared) {
            let (limit, first) = (client.patience, client.patience / Client.answersExpected)
            var pause = first
            while await QuietClock().hasSlept(pause) {
                if heard.take() { continue }
                let notice = Task(executorPreference: QueueExecutor.shared) {
                    if await QuietClock().hasSlept(first) { stillWaiting(false) }
                }
                let lives = await client.showsLife(at: connection.path, within: limit - first)
                notice.cancel()
                if lives {
                    stillWaiting(true)
                } else if !heard.take(), !Task.isCancelled {
                    return connection.end(.silent(path: connection.path, limit))
                }
                pause = limit
            }
        }
    }

    /// Notes that a line has come.
    func lineReceived() { self.heard.set(true) }

    /// Ends it, and returns once it uses no connection any more.
    func end() async {
        self.task.cancel()
        await self.task.value
    }

    deinit { self.task.cancel() }
}

extension Client {
    /// The part of ``answerLimit`` after which an answer is missed, and the daemon is asked whether it lives: a fifth.
    ///
    /// 2 s: longer than most answers take, and soon for whoever looks on.
    fileprivate static let answersExpected = 5

    /// The pause before another attempt to ask.
    ///
    /// 100 ms: as ``Backoff`` begins with. Not tuned.
    private static let pauseBetweenSigns = Duration.milliseconds(100)

    /// Whether anything answers at that socket in time, be it with a refusal.
    fileprivate func showsLife(at path: String, within limit: Duration) async -> Bool {
        let door: Door = path == self.directory.socketPath(of: .events) ? .events : .control
        let clock = QuietClock()
        let end = clock.now.advanced(by: limit)
        var left = limit
        while left > .zero {
            do {
                let connection = try await self.connect(to: door)
                let deadline = connection.expectAnswer(within: left)
                defer { deadline.cancel() }
                try await connection.send(.ping)
                // Iterating ends here, which closes the connection.
                for try await _ in connection.lines { return true }
            } catch {
                // Nobody listens for a moment in a restart, which the connection may outlive.
            }
            left = clock.now.duration(to: end)
            guard left > .zero, await clock.hasSlept(min(left, Self.pauseBetweenSigns)) else {
                return false
            }
            left = clock.now.duration(to: end)
        }
        return false
    }
}

import Glibc
import NIOCore
import NIOPosix
import StateMachineClient
import StateMachineCore
package import StateMachineProtocol
package import StateMachineServer

/// Follows other machines on this host, as a client of their daemons: one connection each, at the door that only reads.
///
/// What their daemons say is checked, and bounded; one that says what cannot be is not seen, and asked again after a pause.
package final class LinkedMachines: LinkWatcher {
    /// The pause after what cannot be.
    ///
    /// 5 s: as long as the longest one between attempts to connect.
    private static let pauseAfterLies = Duration.seconds(5)

    /// Where the instances under this manager are.
    private let base: String
    /// How long a daemon may take to say what is at hand, and may say nothing.
    private let patience: Duration
    /// How often it is to say that it lives: twice before it is given up.
    private var beat: Duration { self.patience / 2 }
    /// Which process is the machine's own daemon.
    private let process: Int32
    /// A thread of their own, so that nobody at the daemon's waits while one of them sends without end; made when it is needed.
    private let group = Lock<MultiThreadedEventLoopGroup?>(nil)

    /// For a machine whose daemon has that runtime directory, as an instance of that name; nil: it has none.
    package init(
        besides directory: String,
        of instance: String?,
        patience: Duration = Client.answerLimit,
        process: Int32 = getpid()
    ) {
        (self.patience, self.process) = (patience, process)
        let directory = RuntimeDirectory(directory).withoutSlash.path
        let parent = directory.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        let isNamed = instance.map { directory.hasSuffix("/\($0)") } ?? false
        self.base = isNamed ? parent : directory
    }

    /// Ends the thread; nothing is followed any more.
    package func end() async {
        guard let group = self.group.withLock({ $0 }) else { return }
        do {
            try await group.shutdownGracefully()
        } catch {
            // It has ended before.
        }
    }

    private func client(of link: Link) -> Client {
        let directory =
            switch link.place {
            case .instance("-"): self.base
            case .instance(let name): "\(self.base)/\(name)"
            case .directory(let path): path
            }
        let group = self.group.withLock { group in
            let made = group ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
            group = made
            return made
        }
        return Client(RuntimeDirectory(directory), on: group)
    }

    package func watch(
        _ link: Link,
        since cursor: String?,
        telling tell: @escaping @Sendable (LinkNews) async -> Void
    ) async {
        let client = self.client(of: link)
        var (cursor, backoff) = (cursor, Backoff())
        var random = SystemRandomNumberGenerator()
        while !Task.isCancelled {
            let (why, pause): (String, Duration)
            do {
                try await self.follow(client, &cursor, &backoff, tell)
                return
            } catch let error as Untrue {
                (why, pause) = (error.description, Self.pauseAfterLies)
            } catch let error as ClientError {
                (why, pause) = (
                    error.description,
                    error.isUntrue ? Self.pauseAfterLies : backoff.next(using: &random)
                )
            } catch {
                return
            }
            await tell(.unseen(why))
            guard await QuietClock().hasSlept(pause) else { return }
        }
    }

    /// Follows it over one connection.
    ///
    /// - Throws: why that has ended.
    private func follow(
        _ client: Client,
        _ cursor: inout String?,
        _ backoff: inout Backoff,
        _ tell: @Sendable (LinkNews) async -> Void
    ) async throws {
        let connection = try await client.connect(to: .events)
        // Whatever ends this ends the connection: nobody reads its lines any more.
        let dialogue = Dialogue(connection)
        guard let listener = await connection.listener() else {
            throw ClientError.lost(path: connection.path)
        }
        guard [0, geteuid()].contains(listener.uid) else {
            throw Untrue(
                "the daemon on \(connection.path) is of uid \(listener.uid), neither root's nor our own"
            )
        }
        guard listener.pid != self.process else {
            throw Untrue("the daemon on \(connection.path) is this machine's own")
        }
        let beginning = connection.expectAnswer(within: self.patience)
        defer { beginning.cancel() }
        // Connecting has begun a watch from now on.
        try await dialogue.send(.unwatch)
        try await dialogue.send(.describe.called("describe"))
        let pace = Pace(beat: self.beat)
        try await dialogue.send(.watch(since: cursor, pace: pace).called("watch"))
        var reading = LinkReading(on: connection.path, since: cursor)
        while true {
            let line = try await self.next(of: dialogue, on: connection)
            for news in try reading.news(of: line) {
                if case .state(_, let newest) = news {
                    beginning.cancel()
                    backoff.reset()
                    cursor = newest
                }
                await tell(news)
            }
            if reading.takeIsOutdated() { try await dialogue.send(.describe.called("describe")) }
        }
    }

    /// The next line, which has to come in time: a socket says of a daemon that it has ended, and not that it hangs.
    private func next(of dialogue: Dialogue, on connection: Connection) async throws -> Line {
        let silence = connection.expectAnswer(within: self.patience)
        defer { silence.cancel() }
        return try await dialogue.next()
    }
}

/// What a daemon has said that cannot be, or who it is that may not be followed.
struct Untrue: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension ClientError {
    /// Whether the daemon has said what no daemon says.
    fileprivate var isUntrue: Bool {
        switch self {
        case .malformed, .lineTooLong, .refused: true
        case .notFound, .noInstance, .unreachable, .crowded, .pathTooLong, .notPermitted, .silent,
            .timedOut, .lost,
            .dismissed, .lostForGood:
            false
        }
    }
}

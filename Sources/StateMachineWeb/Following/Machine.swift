import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

/// A machine that is shown: one watch of it, and the answers about it, for all who look.
final class Machine: Sendable {
    /// How often readers are told that there is more.
    ///
    /// 20 ms: nobody sees a shorter time, and in a flood each browser is written to fifty times a
    /// second.
    private static let pace = Duration.milliseconds(20)
    /// How often a stream without news shows that it is there.
    ///
    /// 15 s: what the HTML standard suggests against proxies that drop idle connections.
    static let beat = Duration.seconds(15)
    /// How long a daemon that refuses the watch is left alone.
    ///
    /// 5 s: the longest pause of a client that connects again.
    private static let pause = Duration.seconds(5)
    /// The most changes, and bytes of them, that the page is given of the past.
    ///
    /// 300: more than a band a thousand pixels wide shows apart; 1 MiB: sixteen of the largest states.
    private static let past = (changes: UInt64(300), bytes: 1 << 20)

    let name: String
    let client: Client
    let feed = Feed()
    /// The graph and the answer to `stats`, as JSON.
    let overview: CachedAnswer
    /// The last changes, the oldest first, as JSON.
    let past: CachedAnswer

    init(name: String, directory: RuntimeDirectory) {
        let client = Client(directory)
        (self.name, self.client) = (name, client)
        self.overview = CachedAnswer { try await Self.overview(client) }
        self.past = CachedAnswer { try await Self.past(client) }
    }

    /// Follows it until the task is cancelled.
    ///
    /// - Parameter told: called whenever readers have been told that there is more.
    func run(_ told: @escaping @Sendable () -> Void) async {
        let bell = Doorbell()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.follow { bell.ring() } }
            group.addTask {
                for await _ in bell.rings {
                    self.feed.bell.ring()
                    told()
                    guard await QuietClock().hasSlept(Self.pace) else { return }
                }
            }
            group.addTask {
                while await QuietClock().hasSlept(Self.beat) { self.feed.bell.beat() }
            }
        }
    }

    private func follow(_ poke: @Sendable () -> Void) async {
        repeat {
            do {
                let cursor = self.feed.latest?.cursor
                for try await event in self.client.watch(since: cursor, isPatient: true) {
                    switch event {
                    case .line(let line): self.feed.take(line)
                    case .interrupted(let error, _, _): self.feed.lost(error.description)
                    case .reached: break
                    }
                    poke()
                }
            } catch let error as ClientError {
                self.feed.lost(error.description)
                poke()
            } catch {
                // Only a cancelled task's watch throws anything else.
                return
            }
        } while await QuietClock().hasSlept(Self.pause)
    }

    private static func overview(_ client: Client) async throws -> String {
        let description = try await client.accepted(.describe).value
        let stats = try await client.accepted(.stats).value
        var drawing = Drawing(description: description)
        drawing?.note(DrawingBar.bars(stats, description))
        return JSONValue.object([
            JSONMember("graph", drawing?.json ?? .null),
            JSONMember("stats", stats),
            JSONMember("version", description["version"] ?? .null),
        ]).description
    }

    private static func past(_ client: Client) async throws -> String {
        var (lines, size): ([String], Int) = ([], 0)
        let request = Request.history(limit: self.past.changes, order: .newest)
        let reply = try await client.changes(request) { line in
            size += line.text.utf8.count
            if size <= self.past.bytes { lines.append(line.text) }
        }
        guard reply.isOK == true else { throw ClientError.refused(reply) }
        return "[\(lines.reversed().joined(separator: ",\n"))]"
    }
}

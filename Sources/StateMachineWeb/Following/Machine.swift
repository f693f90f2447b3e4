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

    /// How long an answer to `describe` is used while nothing is heard that changes it.
    ///
    /// A minute: nothing else does.
    private static let descriptionAge = Duration.seconds(60)
    /// How long an answer for the page may take.
    ///
    /// 5 s: the page waits for twice that, for all machines at once, and one that stands still is told.
    private static let patience = Duration.seconds(5)

    /// What the list says of what the answer to `stats` has.
    private static let shown = [
        "holds", "guards", "more", "trouble", "suspended", "overdue", "seq",
    ]

    let name: String
    let client: Client
    let feed = Feed()
    /// The answer to `describe`, which another file or another daemon changes.
    private let description: CachedAnswer<JSONValue>
    private let stats: CachedAnswer<JSONValue>
    /// The last changes, the oldest first, as JSON.
    let past: CachedAnswer<String>
    private let (ending, ended) = AsyncStream.makeStream(of: Void.self)

    init(name: String, directory: RuntimeDirectory) {
        let client = Client(directory)
        (self.name, self.client) = (name, client)
        self.description = CachedAnswer(Self.descriptionAge) {
            try await client.accepted(.describe, within: Self.patience).value
        }
        self.stats = CachedAnswer { try await client.accepted(.stats, within: Self.patience).value }
        self.past = CachedAnswer { try await Self.past(client) }
    }

    /// It is no longer shown: ends its streams and the watch.
    func end() {
        self.feed.bell.finish()
        self.ended.finish()
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
            group.addTask { for await _ in self.ending {} }
            await group.next()
            group.cancelAll()
        }
    }

    private func follow(_ poke: @Sendable () -> Void) async {
        repeat {
            do {
                let cursor = self.feed.latest?.cursor
                for try await event in self.client.watch(since: cursor, isPatient: true) {
                    switch event {
                    case .line(let line):
                        // Whoever hears it asks for the graph, which is another one from now on.
                        if line.kind == .declared || !self.feed.isPresent { await self.forget() }
                        // Whoever hears it asks what keeps the machine from changing.
                        if line.isUp != nil { await self.stats.forget() }
                        self.feed.take(line)
                    case .interrupted(let error, _, _):
                        self.feed.lost(error.description, hasFarewell: error.isEnd)
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

    private func forget() async {
        await self.description.forget()
        await self.stats.forget()
    }

    /// The graph and the answer to `stats`, as JSON.
    ///
    /// - Throws: `ClientError`.
    func overview() async throws -> String {
        let description = try await self.description.value()
        let stats = try await self.stats.value()
        var drawing = Drawing(description: description)
        drawing?.note(DrawingBar.bars(stats, description))
        return JSONValue.object([
            JSONMember("graph", drawing?.json ?? .null),
            JSONMember("stats", stats),
            JSONMember("version", description["version"] ?? .null),
        ]).description
    }

    /// What the list of machines says of it beside its state, as JSON.
    func summary() async -> JSONValue {
        var members = [JSONMember("name", .string(self.name))]
        guard self.feed.isPresent else { return .object(members) }
        do {
            let description = try await self.description.value()
            let stats = try await self.stats.value()
            members += ["machine", "groups"].compactMap { key in
                description[key].map { JSONMember(key, $0) }
            }
            let marks = (description["states"]?.elements ?? []).compactMap { state in
                state["state"]?.string.flatMap { name in
                    state["mark"].map { JSONMember(name, $0) }
                }
            }
            if !marks.isEmpty { members.append(JSONMember("marks", .object(marks))) }
            members += Self.shown.compactMap { key in stats[key].map { JSONMember(key, $0) } }
        } catch {
            members.append(JSONMember("error", .string("\(error)")))
        }
        return .object(members)
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

extension ClientError {
    /// Whether the daemon said that it ends, and not that it restarts.
    fileprivate var isEnd: Bool {
        guard case .dismissed(let line) = self else { return false }
        return line["reason"]?.string == "shutdown"
    }
}

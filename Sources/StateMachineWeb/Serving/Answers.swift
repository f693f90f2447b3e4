import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

/// Makes the answer for each path.
struct Answers: Sendable {
    /// The most seconds that a request may wait for another state.
    ///
    /// 60: proxies give up a request that is silent for longer.
    private static let longestWait = 60
    /// How long a request waits for a machine still unknown, as the service has just begun.
    ///
    /// 1 s: a hundred times what a daemon takes to answer.
    private static let settling = Duration.seconds(1)

    let machines: Machines
    let page: Page
    /// Made once for all who ask within a second.
    private let metrics: CachedAnswer<String>
    /// What the list of machines says, made once for all who ask within two seconds.
    private let overview: CachedAnswer<String>

    init(machines: Machines, page: Page) {
        (self.machines, self.page) = (machines, page)
        self.metrics = CachedAnswer(.seconds(1)) { await Self.metrics(of: machines.all) }
        self.overview = CachedAnswer(.seconds(2)) { await Self.overview(of: machines) }
    }

    func answer(to question: PageRequest) async -> Answer {
        do {
            switch question.path {
            case []: return .document(type: "text/html; charset=utf-8", body: self.page.html)
            case ["machines"]: return .document(body: await self.list())
            case ["events"]: return .stream(EventStream(self.machines, after: question.lastID))
            case ["overview"]: return .document(body: try await self.overview.value())
            case ["metrics"]:
                return .document(
                    type: "text/plain; version=0.0.4; charset=utf-8",
                    body: try await self.metrics.value()
                )
            default: break
            }
            guard question.path.first == "machines", (2...3).contains(question.path.count) else {
                return .refusal(404, "there is nothing here; the page is at /")
            }
            guard let machine = self.machines[question.path[1]] else {
                return .refusal(404, "there is no such machine; /machines lists them")
            }
            switch question.path.dropFirst(2).first {
            case nil: return await self.state(of: machine, question)
            case "events"?: return .stream(EventStream(machine, after: question.lastID))
            case "overview"?: return .document(body: try await machine.overview())
            case "past"?: return .document(body: try await machine.past.value())
            default: return .refusal(404, "a machine has only events, overview and past")
            }
        } catch {
            return .refusal(503, "\(error)")
        }
    }

    /// All machines, each with its state as far as it is known.
    private func list() async -> String {
        await withDiscardingTaskGroup { group in
            for machine in self.machines.all { group.addTask { await self.settle(machine.feed) } }
        }
        return JSONValue.array(
            self.machines.all.map { machine in
                .object([
                    JSONMember("name", .string(machine.name)),
                    JSONMember("present", .bool(machine.feed.isPresent)),
                    JSONMember("state", machine.feed.latest?.stateJSON ?? .null),
                ])
            }
        ).description
    }

    private func state(of machine: Machine, _ question: PageRequest) async -> Answer {
        await self.settle(machine.feed)
        let known = machine.feed.latest?.cursor
        if let wait = question.wait {
            guard let seconds = Int(wait), (0...Self.longestWait).contains(seconds) else {
                return .refusal(400, "wait must be whole seconds from 0 to \(Self.longestWait)")
            }
            await self.wait(for: machine.feed, within: .seconds(seconds)) { feed in
                guard feed.isPresent, let cursor = feed.latest?.cursor else { return true }
                return question.tag == nil ? cursor == known : question.has(cursor)
            }
        }
        guard machine.feed.isPresent, let latest = machine.feed.latest, let cursor = latest.cursor
        else { return .refusal(503, "the machine's daemon cannot be reached") }
        if question.has(cursor) { return .unchanged(cursor: cursor) }
        return .document(body: latest.stateJSON.description, cursor: cursor)
    }

    /// Waits until something is known of the machine.
    private func settle(_ feed: Feed) async {
        await self.wait(for: feed, within: Self.settling) { $0.isUnknown }
    }

    /// Waits while that is so of a feed, until the time is up.
    private func wait(
        for feed: Feed,
        within time: Duration,
        while isSo: @escaping @Sendable (Feed) -> Bool
    ) async {
        guard isSo(feed) else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await QuietClock().hasSlept(time) }
            group.addTask {
                let news = feed.bell.news
                guard isSo(feed) else { return }
                for await _ in news where !isSo(feed) { return }
            }
            defer { group.cancelAll() }
            await group.next()
        }
    }

    /// All machines, each with who stands around it, and what time it is here.
    private static func overview(of machines: Machines) async -> String {
        let summaries = await machines.all.concurrentlyMapped { await $0.summary() }
        return JSONValue.object([
            JSONMember("at", .string(WallTime.now.rfc3339)),
            JSONMember("machines", .array(summaries)),
            JSONMember("hidden", .integer(UInt64(machines.hidden))),
        ]).description
    }

    private static func metrics(of machines: [Machine]) async -> String {
        let samples = await machines.concurrentlyMapped { machine in
            // One that does not answer shows as 0 in `up`.
            try? await PrometheusText.Sample(
                of: machine.client,
                as: machine.name,
                within: .seconds(2),
                held: DrawingBar.held
            )
        }
        let missing = zip(machines, samples).compactMap { $1 == nil ? $0.name : nil }
        return PrometheusText.text(samples.compactMap(\.self), missing: missing) + "\n"
    }
}

/// The answer to a request, before it becomes HTTP.
enum Answer {
    /// The cursor of a state is its entity tag.
    case document(
        status: Int = 200,
        type: String = "application/json",
        body: String,
        cursor: String? = nil
    )
    /// The state is the one that the browser has.
    case unchanged(cursor: String)
    case stream(EventStream)

    /// More requests wait, or read a stream, than may.
    static func refusal(_ tooMany: TooManyFollow) -> Answer {
        let (status, whose) =
            switch tooMany {
            case .ofOne(let most): (429, "this address has \(most)")
            case .all(let most): (503, "there are \(most)")
            }
        return .document(
            status: status,
            type: "text/plain; charset=utf-8",
            body: "\(whose) streams and waits, the most that are allowed; close some\n"
        )
    }

    /// A refusal with its reason: a sentence for people.
    static func refusal(_ status: Int, _ message: String) -> Answer {
        let body = JSONValue.object([JSONMember("message", .string(message))])
        return .document(status: status, body: body.description)
    }
}

/// What is asked for: the parts of a request that an answer depends on.
struct PageRequest: Sendable {
    /// The path without the query, its parts decoded.
    let path: [String]
    /// Seconds that the answer may wait for another state.
    var wait: String?
    /// `If-None-Match`.
    var tag: String?
    /// `Last-Event-ID`, or the query's `since`.
    var lastID: String?

    /// Whether the browser has the state of that cursor.
    ///
    /// Compares weakly, RFC 9110, 13.1.2, and without what a proxy that compresses adds, as in
    /// `"a4bc88eb:1-gzip"`.
    func has(_ cursor: String) -> Bool {
        guard let known = self.tag else { return false }
        return known.split(separator: ",").contains { part in
            var own = part.drop { $0 == " " }.prefix { $0 != " " }
            if own == "*" { return true }
            if own.hasPrefix("W/") { own = own.dropFirst(2) }
            return own.first == "\""
                && own.dropFirst().prefix { $0.isHexDigit || $0 == ":" } == cursor
        }
    }
}

extension Substring {
    /// The text with its percent-encoding decoded: RFC 3986, 2.1; anything else stays as it is.
    var percentDecoded: String {
        var (bytes, rest): ([UInt8], Self.UTF8View.SubSequence) = ([], self.utf8[...])
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(decoded)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

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
    private let metrics: CachedAnswer

    init(machines: Machines, page: Page) {
        (self.machines, self.page) = (machines, page)
        self.metrics = CachedAnswer(.seconds(1)) { await Self.metrics(of: machines.all) }
    }

    func answer(to question: PageRequest) async -> Answer {
        do {
            switch question.path {
            case []: return .document(type: "text/html; charset=utf-8", body: self.page.html)
            case ["machines"]: return .document(body: await self.list())
            case ["events"]: return .stream(EventStream(self.machines, after: question.lastID))
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
            case "overview"?: return .document(body: try await machine.overview.value())
            case "past"?: return .document(body: try await machine.past.value())
            default: return .refusal(404, "a machine has events, overview and past")
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
                return .refusal(400, "wait takes whole seconds, 0 to \(Self.longestWait)")
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
                while true {
                    let count = feed.bell.count
                    guard isSo(feed) else { return }
                    if case .ended = await feed.bell.news(after: count) { return }
                }
            }
            defer { group.cancelAll() }
            await group.next()
        }
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

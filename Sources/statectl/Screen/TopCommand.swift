import ArgumentParser
import Dispatch
import Glibc
import Processes
import StateMachineClient

struct TopCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show machines on a screen that follows them.",
        discussion: """
            The state, for how long and until when, who set it and why; holds, guards and how they have voted; \
            watchers and how many changes each is behind; what runs; and the last changes. It is drawn again at each \
            change and once a second; q quits. Several machines have a line each, with their holds and guards.

            Without a terminal it prints a line for each change, as watch does. Exit codes: 0 ended by q, 69 there \
            is no machine.

            Examples:

              statectl top
              statectl top --all
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var machines: SeveralMachines

    func validate() throws {
        try demand(!self.options.json, "top has no --json; use statectl --json watch")
    }

    func run() async throws {
        let targets = try self.machines.targets(self.options)
        let clients = try targets.map { try $0.options.client }
        guard let screen = TerminalScreen() else { return try await self.print(targets, clients) }
        if targets.count == 1 {
            // A machine that is not there, or refuses, is reported in a line and not on a screen.
            _ = try await clients[0].accepted(.get)
        }
        try await Self.show(targets, clients, on: screen)
    }

    /// Prints a line for each change.
    private func print(_ targets: [MachineTarget], _ clients: [Client]) async throws {
        var entries = zip(targets, clients).map { target, client in
            { @Sendable in
                let watch = client.watch(isPatient: target.mark != nil)
                try await WatchRun(follow: Follow(watch: watch), target: target).run()
            }
        }
        entries.append(Race.reader)
        try await Race.run(entries)
    }
}

extension TopCommand {
    /// What makes the screen show a new frame.
    private enum Event: Sendable {
        case news(Int, MachineFollowing.News)
        case key(UInt8)
        case signal(CInt)
        case second
    }

    /// The shortest time between two frames that only news calls for.
    private static let pause = Duration.milliseconds(50)

    /// Shows machines until `q`, or until a signal ends that.
    private static func show(
        _ targets: [MachineTarget],
        _ clients: [Client],
        on screen: TerminalScreen
    ) async throws {
        let (events, event) = AsyncStream.makeStream(of: Event.self)
        let tasks = self.sources(clients, event)
        defer { for task in tasks { task.cancel() } }
        try screen.open()
        defer { screen.close() }
        var views = targets.map { MachineView($0) }
        var shown = ContinuousClock.now.advanced(by: .zero - Self.pause)
        for await event in events {
            switch event {
            case .news(let index, let news):
                news(&views[index])
                // The next second shows it too.
                guard views[index].isPressing || ContinuousClock.now - shown >= Self.pause else {
                    continue
                }
                views[index].isPressing = false
            case .key(let key):
                guard ![UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains(key) else { return }
            case .signal(SIGWINCH), .second: break
            case .signal(SIGTSTP):
                screen.close()
                raise(SIGSTOP)
                try screen.open()
            case .signal(SIGCONT): try screen.open()
            case .signal(let number): throw ProcessEnd.signal(number)
            }
            var text = targets[0].options.text
            let size = screen.size
            text.width = size.columns
            try screen.show(TopFrame(text: text, size: size).lines(views))
            shown = .now
        }
    }

    private static func sources(
        _ clients: [Client],
        _ event: AsyncStream<Event>.Continuation
    ) -> [Task<Void, any Error>] {
        let followed = clients.enumerated().map { index, client in
            Task {
                try await MachineFollowing(client: client) { event.yield(.news(index, $0)) }.run()
            }
        }
        let signals = Signals.ending + [SIGHUP, SIGWINCH, SIGTSTP, SIGCONT]
        return followed + [
            Task {
                for await key in TerminalKeys.stream() { event.yield(.key(key)) }
                // The terminal has gone, which is as good as its Ctrl-D.
                event.yield(.key(4))
            },
            Task {
                for await number in Signals.stream(signals) { event.yield(.signal(number)) }
            },
            Task {
                while true {
                    try await Task.sleep(for: .seconds(1))
                    event.yield(.second)
                }
            },
        ]
    }
}

/// The keys of a terminal, as they are pressed.
enum TerminalKeys {
    /// The bytes as they come; ends when the terminal does.
    static func stream() -> AsyncStream<UInt8> {
        AsyncStream { continuation in
            let queue = DispatchQueue(label: "statectl.keys")
            let source = ReadSource(STDIN_FILENO, on: queue) {
                var buffer = [UInt8](repeating: 0, count: 64)
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                guard count > 0 else { return continuation.finish() }
                for byte in buffer.prefix(count) { continuation.yield(byte) }
            }
            continuation.onTermination = { _ in source.end() }
        }
    }
}

/// Follows a machine: its changes, and its status once a second and after each change.
struct MachineFollowing: Sendable {
    typealias News = @Sendable (inout MachineView) -> Void

    /// How often to ask: if nothing happens, and at most.
    private static let pause = (idle: Duration.seconds(1), busy: Duration.milliseconds(100))
    /// After how long a daemon that does not answer is reported as silent.
    private static let timeout = Duration.seconds(2)

    let client: Client
    /// Takes what is new for the view of the machine.
    let tell: @Sendable (@escaping News) -> Void
    /// Rings when it is to be asked.
    private let bell = Doorbell()

    /// Reports news until the task is cancelled.
    func run() async throws {
        do {
            try await Race.run(
                self.ask,
                self.hear,
                {
                    while true {
                        self.bell.ring()
                        try await Task.sleep(for: Self.pause.idle)
                    }
                }
            )
        } catch let error as ClientError {
            self.tell { $0.failed(error) }
        }
    }

    @Sendable private func ask() async throws {
        var description: Line?
        for await _ in self.bell.rings {
            do {
                var status = try await MachineStatus(of: self.client, within: Self.timeout)
                if description == nil {
                    description = try await self.client.accepted(.describe, within: Self.timeout)
                }
                status.describe(description)
                self.tell { [status] in $0.answered(status) }
            } catch let error as ClientError {
                self.tell { $0.failed(error) }
            }
            try await Task.sleep(for: Self.pause.busy)
        }
    }

    @Sendable private func hear() async throws {
        // In a flood the newest change is enough.
        let pace = Pace(isLatest: true, every: Self.pause.busy)
        let watch = self.client.watch(pace: pace, isPatient: true)
        try await Follow(watch: watch).run { news in
            switch news {
            case .line(let line):
                if line.kind == .change { self.tell { $0.take(line) } }
                if line.kind == .state { try await self.look(back: line) }
                self.bell.ring()
            case .gone(let error), .awaited(let error): self.tell { $0.failed(error) }
            case .connected, .reached: break
            }
            return .next
        }
    }

    /// Reports what happened before a watch began.
    private func look(back line: Line) async throws {
        // A reader that fell behind has seen what was before, and the numbering goes on.
        if line.resync != "lagged", line.resync != "evicted" { self.tell { $0.changes = [] } }
        do {
            let request = Request.history(limit: 40, order: .newest)
            _ = try await self.client.changes(request) { change in self.tell { $0.take(change) } }
        } catch let error as ClientError {
            self.tell { $0.failed(error) }
        }
    }
}

/// What is known about a machine on the screen.
struct MachineView: Sendable {
    /// The most changes that are kept.
    ///
    /// 200: more rows than any terminal has.
    private static let kept = 200

    let target: MachineTarget
    /// Its status when it last answered; nil until it has.
    private(set) var status: MachineStatus?
    /// Why it does not answer; nil as long as it does.
    private(set) var error: String?
    /// The changes, the newest first, all of one numbering.
    var changes: [Line] = []
    /// Whether there is something that has to be shown at once.
    var isPressing = false

    /// The instance's name and the machine's, as far as they are known and differ.
    var title: String {
        let name = self.status?.machine
        guard let instance = self.target.options.machine.first else {
            return name ?? "statemachine"
        }
        return name.map { $0 == instance ? $0 : "\(instance) (\($0))" } ?? instance
    }

    /// The directory of its doors, if it was given.
    var directory: String? { self.target.options.runtimeDirectory }

    init(_ target: MachineTarget) { self.target = target }

    mutating func answered(_ status: MachineStatus) {
        self.isPressing = self.error != nil || self.status?.state.seq != status.state.seq
        (self.status, self.error) = (status, nil)
    }

    mutating func failed(_ error: ClientError) {
        (self.error, self.isPressing) = (error.description, true)
    }

    /// Takes a change, new or old, in any order.
    mutating func take(_ change: Line) {
        let seq = change.seq ?? 0
        guard !self.changes.contains(where: { $0.seq == seq }) else { return }
        let index = self.changes.firstIndex { ($0.seq ?? 0) < seq } ?? self.changes.count
        self.changes.insert(change, at: index)
        self.changes.removeLast(max(0, self.changes.count - Self.kept))
    }
}

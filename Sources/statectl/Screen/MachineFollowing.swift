import StateMachineClient

/// Follows a machine: its changes, and its status once a second and after each change.
struct MachineFollowing: Sendable {
    /// What is new for the view of the machine; says whether it has to be shown at once.
    typealias News = @Sendable (inout MachineView) -> Bool

    /// How often to ask: if nothing happens, and at most.
    private static let pause = (idle: Duration.seconds(1), busy: Duration.milliseconds(100))
    /// After how long a daemon that does not answer is reported as silent.
    private static let timeout = Duration.seconds(2)

    let client: Client

    /// Reports news until the task is cancelled.
    func run(_ tell: @escaping @Sendable (@escaping News) -> Void) async throws {
        let (pokes, poke) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        try await Race.run(
            { try await self.ask(on: pokes, tell) },
            { try await self.hear(tell) { poke.yield() } },
            {
                while true {
                    poke.yield()
                    try await Task.sleep(for: Self.pause.idle)
                }
            }
        )
    }

    private func ask(
        on pokes: AsyncStream<Void>,
        _ tell: @Sendable (@escaping News) -> Void
    ) async throws {
        var description: Line?
        for await _ in pokes {
            do {
                let state = try await self.client.accepted(.get, within: Self.timeout)
                let stats = try await self.client.accepted(.stats, within: Self.timeout)
                if description == nil {
                    description = try await self.client.accepted(.describe, within: Self.timeout)
                }
                let status = MachineStatus(
                    state: state,
                    stats: stats,
                    runner: RunnerState(in: self.client.directory),
                    hasCommands: description.map(MachineStatus.hasCommands) ?? false
                )
                let name = description?["machine"]?.string
                tell { view in
                    view.name = name
                    return view.answered(status)
                }
            } catch let error as ClientError {
                tell { $0.failed(error.description) }
            }
            try await Task.sleep(for: Self.pause.busy)
        }
    }

    private func hear(
        _ tell: @Sendable (@escaping News) -> Void,
        _ poke: @Sendable () -> Void
    ) async throws {
        // In a flood the newest change is enough.
        let pace = Pace(isLatest: true, every: Self.pause.busy)
        let follow = Follow(watch: {
            self.client.watch(since: $0, pace: pace, isPatient: true)
        })
        try await follow.run { news in
            switch news {
            case .line(let line):
                switch line.kind {
                case .change: tell { $0.take(line) }
                case .state: try await self.look(back: line, tell)
                case .live, .reply, .ask, .declared, .beat, .bye, .other: break
                }
                poke()
            case .gone(let error), .awaited(let error): tell { $0.failed(error.description) }
            case .connected, .reached: break
            }
            return .next
        }
    }

    /// Reports what happened before a watch began.
    private func look(back line: Line, _ tell: @Sendable (@escaping News) -> Void) async throws {
        // A reader that fell behind has seen what was before, and the numbering goes on.
        if line.resync != "lagged", line.resync != "evicted" { tell { $0.beganAnew() } }
        do {
            let request = Request.history(limit: 40, order: .newest)
            _ = try await self.client.changes(request) { change in tell { $0.take(change) } }
        } catch let error as ClientError {
            tell { $0.failed(error.description) }
        }
    }
}

import StateMachineClient

/// Follows a machine: its changes, and its status once a second and after each change.
struct MachineFollowing: Sendable {
    /// What there is to report.
    enum News: Sendable {
        case status(MachineStatus)
        case name(String?)
        case change(Line)
        case anew
        case failure(String)
    }

    /// How often to ask: if nothing happens, and at most.
    private static let pause = (idle: Duration.seconds(1), busy: Duration.milliseconds(100))
    /// After how long a daemon that does not answer is reported as silent.
    private static let timeout = Duration.seconds(2)

    let client: Client

    /// Reports news until the task is cancelled.
    func run(_ tell: @escaping @Sendable (News) -> Void) async throws {
        let (pokes, poke) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.ask(on: pokes, tell) }
            group.addTask { try await self.hear(tell) { poke.yield() } }
            group.addTask {
                while true {
                    poke.yield()
                    try await Task.sleep(for: Self.pause.idle)
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func ask(
        on pokes: AsyncStream<Void>,
        _ tell: @Sendable (News) -> Void
    ) async throws {
        var (isDescribed, hasCommands) = (false, false)
        for await _ in pokes {
            do {
                let state = try await self.client.accepted(.get, within: Self.timeout)
                let stats = try await self.client.accepted(.stats, within: Self.timeout)
                if !isDescribed {
                    let description = try await self.client.accepted(
                        .describe,
                        within: Self.timeout
                    )
                    tell(.name(description["machine"]?.string))
                    hasCommands = MachineStatus.hasCommands(description)
                    isDescribed = true
                }
                tell(
                    .status(
                        MachineStatus(
                            state: state,
                            stats: stats,
                            runner: RunnerState(in: self.client.directory),
                            hasCommands: hasCommands
                        )
                    )
                )
            } catch let error as ClientError {
                tell(.failure(error.description))
            }
            try await Task.sleep(for: Self.pause.busy)
        }
    }

    private func hear(
        _ tell: @Sendable (News) -> Void,
        _ poke: @Sendable () -> Void
    ) async throws {
        // In a flood the newest change is enough.
        let pace = Pace(isLatest: true, every: Self.pause.busy)
        for try await event in self.client.watch(pace: pace, isPatient: true) {
            switch event {
            case .line(let line):
                switch line.kind {
                case .change: tell(.change(line))
                case .state: try await self.look(back: line, tell)
                case .live, .reply, .ask, .declared, .beat, .bye, .other: break
                }
                poke()
            case .interrupted(let error, _, _): tell(.failure(error.description))
            case .reached: break
            }
        }
    }

    /// Reports what happened before a watch began.
    private func look(back line: Line, _ tell: @Sendable (News) -> Void) async throws {
        // A reader that fell behind has seen what was before, and the numbering goes on.
        if line.resync != "lagged", line.resync != "evicted" { tell(.anew) }
        do {
            _ = try await self.client.changes(.history(limit: 40, order: .newest)) {
                tell(.change($0))
            }
        } catch let error as ClientError {
            tell(.failure(error.description))
        }
    }
}

import StateMachineClient
import StateMachineCore

extension WatchCommand {
    /// Runs a command once for each change of a machine that is followed, in order; only its success lets the next
    /// change come.
    ///
    /// The cursor is kept only after a change's command has succeeded: if this process or the daemon is
    /// killed meanwhile, that change's command is run again.
    func each(
        _ follow: Follow,
        _ command: ChildCommand,
        for target: MachineTarget,
        _ file: CursorFile?
    ) async throws {
        var progress = EachProgress(since: follow.watch.since)
        var stays = StaySelection()
        func keep(_ line: Line) throws {
            guard let cursor = line.cursor, cursor != progress.cursor else { return }
            try file?.write(cursor)
            progress.cursor = cursor
        }
        try await follow.run { news in
            guard case .line(let line) = news else {
                news.complain()
                return .next
            }
            if self.stays, !stays.lineReceived(line) {
                try keep(line)
                return .next
            }
            switch progress.lineReceived(line) {
            case .run(let event, let resync):
                try await self.deal(with: line, as: event, resync: resync, command, target)
                try keep(line)
                try Task.checkCancellation()
                return .counted
            case .keep: try keep(line)
            case .pass: break
            case .readAgain: return .again(since: progress.cursor)
            }
            return .next
        }
    }

    /// Runs the command until it succeeds; with `--retry` for as long as it takes, else once.
    private func deal(
        with line: Line,
        as event: WatchEvent,
        resync: String?,
        _ command: ChildCommand,
        _ target: MachineTarget
    ) async throws {
        var pauses = GrowingPause()
        while true {
            // Not cancelled with this task, so that it can finish.
            let run = Task(executorPreference: QueueExecutor.shared) {
                await command.run(for: line, of: target, as: event, resync: resync)
            }
            guard let complaint = await run.value else { return }
            let change = "change \(line.number)"
            guard self.retry else { throw Refusal("\(complaint); \(change) counts as not handled") }
            let pause = pauses.next()
            StandardError.say("\(complaint); trying \(change) again in \(pause / .seconds(1)) s")
            try await QuietClock().sleep(for: pause)
        }
    }
}

/// Decides what to do with a line when a command is run for each change; it has no effects.
struct EachProgress {
    enum Action: Equatable {
        /// Run the command; `resync` says why changes may be missing before the line.
        case run(WatchEvent, resync: String?)
        /// Nothing to run for; the cursor moves on, so that nothing earlier is asked for again.
        case keep
        case pass
        /// Read on after the cursor: what was not sent may still be there.
        case readAgain
    }

    /// The cursor of the last line that was dealt with.
    var cursor: String?
    /// Why changes may be missing before the next line that the command is run for.
    private var resync: String?
    /// Whether this subscription has brought anything.
    private var hasMoved = false

    init(since cursor: String?) {
        self.cursor = cursor
    }

    mutating func lineReceived(_ line: Line) -> Action {
        switch line.kind {
        case .change: return self.run(.change)
        case .state:
            guard let resync = line.resync else { return self.moved(.keep) }
            // A slow reader is told to read on from the daemon's disk. If that gains nothing, the
            // lines are lost.
            if resync == "lagged", self.hasMoved, self.cursor != nil {
                self.hasMoved = false
                return .readAgain
            }
            self.resync = resync
            return line.isSelected ? self.run(.state) : self.moved(.pass)
        // What is missing is asked for again until somebody has been told about it.
        case .live: return self.moved(self.resync == nil ? .keep : .pass)
        case .reply, .declared, .ask, .beat, .bye, .other: return .pass
        }
    }

    private mutating func run(_ event: WatchEvent) -> Action {
        defer { self.resync = nil }
        return self.moved(.run(event, resync: self.resync))
    }

    private mutating func moved(_ action: Action) -> Action {
        self.hasMoved = true
        return action
    }
}

import StateMachineClient
import StateMachineCore

/// Runs a command once for each change of a machine that is followed, in order; only its success lets the next change
/// come.
///
/// The cursor is kept only after a change's command has succeeded: if this process or the daemon is
/// killed meanwhile, that change's command is run again.
struct EachSink {
    let command: ChildCommand
    /// Gives its standard input.
    let target: MachineTarget
    /// Whether to retry a command that fails, for as long as it takes; otherwise it ends the watch.
    let isRetrying: Bool
    let file: CursorFile?
    var progress: EachProgress

    mutating func take(_ news: Follow.News) async throws -> Follow.Step {
        guard case .line(let line) = news else {
            news.complain()
            return .next
        }
        switch self.progress.lineReceived(line) {
        case .run(let event, let resync):
            try await self.deal(with: line, as: event, resync: resync)
            try self.keep(line)
            try Task.checkCancellation()
            return .counted
        case .keep: try self.keep(line)
        case .pass: break
        case .readAgain: return .again(since: self.progress.cursor)
        }
        return .next
    }

    private mutating func keep(_ line: Line) throws {
        guard let cursor = line.cursor, cursor != self.progress.cursor else { return }
        try self.file?.write(cursor)
        self.progress.cursor = cursor
    }

    /// Runs the command until it succeeds.
    private func deal(with line: Line, as event: WatchEvent, resync: String?) async throws {
        let (command, target) = (self.command, self.target)
        var pauses = GrowingPause()
        while true {
            // Not cancelled with this task, so that it can finish.
            let run = Task(executorPreference: QueueExecutor.shared) {
                await command.run(for: line, of: target, as: event, resync: resync)
            }
            guard let complaint = await run.value else { return }
            let place = "change \(line.number)"
            guard self.isRetrying else {
                throw Refusal("\(complaint); \(place) counts as not handled")
            }
            let pause = pauses.next()
            StandardError.say(
                "\(complaint); trying \(place) again in \(pause / .seconds(1)) s"
            )
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

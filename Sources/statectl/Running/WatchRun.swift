import Processes
import StateMachineClient
import StateMachineCore

/// A watch and what is done with its lines.
struct WatchRun: Sendable {
    let watch: Watch
    let printer: LinePrinter
    /// The number of lines after which it ends.
    var count: Int?
    /// Runs a command for the lines; nil to show them.
    var queue: CommandQueue?
    /// Whether a command is also run when the daemon goes or comes back.
    var tellsOfDaemon = false
    /// Reports states that last too long; a command is run for these then, and for no other state.
    var stuck: StuckWatch?
    /// Whether signals end it; with several watches their owner catches them, once in the process.
    var heedsSignals = true
    /// Keeps the cursor of the last line that was shown, or whose command has ended.
    var keeper: CursorKeeper?

    /// Follows the watch to its end, which may be a signal.
    ///
    /// A command that runs then may finish; a second signal has its usual effect.
    func run() async throws {
        // A task of its own, which is always awaited: where the watches of several machines end
        // each other, a running command may finish too.
        let commands = self.queue.map { queue in Task { await queue.run() } }
        let end = await self.followed()
        switch end {
        case .success: self.queue?.finish()
        case .failure: self.queue?.stop()
        }
        await commands?.value
        do {
            try self.keeper?.write()
        } catch {
            // What ended the watch comes first; it may have been this very thing.
            try end.get()
            throw error
        }
        try end.get()
    }

    private func followed() async -> Result<Void, any Error> {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.follow() }
                if self.queue == nil {
                    group.addTask {
                        await ReaderWatch.readerIsGone()
                        throw OutputError.readerGone
                    }
                }
                if let stuck = self.stuck {
                    group.addTask { try await stuck.run { try self.take(stuck: $0) } }
                }
                if let keeper = self.keeper { group.addTask { try await keeper.run() } }
                if self.heedsSignals, self.queue != nil || self.keeper != nil {
                    group.addTask {
                        for await number in Signals.stream(Signals.ending) {
                            throw ProcessEnd.signal(number)
                        }
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func follow() async throws {
        var taken = 0
        var presence = DaemonPresence()
        var isBack = false
        for try await event in self.watch {
            switch event {
            case .line(let line):
                if presence.lineReceived() {
                    isBack = true
                    try self.cameBack()
                }
                if try self.take(line, isBack: &isBack) { taken += 1 }
                self.stuck?.lineReceived(line)
            case .reached: return
            case .interrupted(let error, let attempt, _):
                switch presence.interrupted(attempt: attempt) {
                case .gone: try self.went(error)
                case .awaited: self.isAwaited(error)
                case .still: break
                }
            }
            if taken == self.count { return }
        }
    }

    // MARK: - Lines

    /// Shows a line, or has the command run for it; returns whether the line is counted.
    private func take(_ line: Line, isBack: inout Bool) throws -> Bool {
        let isCounted =
            switch line.kind {
            case .state, .change: line.isSelected
            case .reply, .live, .declared, .ask, .beat, .bye, .other: false
            }
        if let queue = self.queue {
            switch self.event(line, isBack: &isBack) {
            case .state where self.stuck != nil, .change where self.stuck != nil,
                .beat where self.stuck != nil:
                queue.pass(line)
            case let event?: queue.add(line, as: event)
            case nil: queue.pass(line)
            }
        } else {
            switch line.kind {
            case .state, .live:
                try self.printer.show(line, isBack: isBack)
                isBack = false
            case .change, .declared, .reply, .ask, .beat, .bye, .other:
                try self.printer.show(line)
            }
            self.keeper?.note(line.cursor)
        }
        return isCounted
    }

    /// The event that the command is run for with a line; nil if it is not run.
    private func event(_ line: Line, isBack: inout Bool) -> WatchEvent? {
        switch line.kind {
        case .state where isBack && self.tellsOfDaemon, .live where isBack && self.tellsOfDaemon:
            isBack = false
            return .back
        case .state: return line.isSelected ? .state : nil
        case .change: return .change
        case .beat: return line.isSelected ? .beat : nil
        // Nothing has happened since the line before.
        case .live, .declared, .reply, .ask, .bye, .other: return nil
        }
    }

    /// Reports a state that has lasted too long.
    private func take(stuck line: Line) throws {
        guard let line = StuckLine.of(line) else { return }
        if let queue = self.queue {
            queue.add(line, as: .stuck)
        } else {
            try self.printer.show(line)
        }
    }

    // MARK: - The daemon's going and coming

    private func went(_ error: ClientError) throws {
        guard self.queue != nil else { return try self.printer.gone(error) }
        StandardError.write("statectl: \(error.reconnecting)")
        self.runForAbsence(error)
    }

    /// Reports that it is not there yet; what a command shows from an earlier run may be outdated.
    private func isAwaited(_ error: ClientError) {
        StandardError.write("statectl: \(error.awaiting)")
        self.runForAbsence(error)
    }

    private func runForAbsence(_ error: ClientError) {
        guard self.tellsOfDaemon, let line = PresenceLine.gone(error) else { return }
        self.queue?.add(line, as: .gone)
    }

    private func cameBack() throws {
        if self.queue == nil {
            try self.printer.back()
        } else {
            StandardError.write("statectl: connected")
        }
    }
}

/// What a watch's command is run for.
enum WatchEvent: String {
    /// The state, to begin with or after changes that were missed.
    case state
    case change
    /// Nothing has happened for a while.
    case beat
    /// The state has lasted for a while.
    case stuck
    /// The daemon is gone, or is not there to begin with, and the state is not known.
    case gone
    /// The daemon is back, in that state.
    case back
}

import Processes
import StateMachineClient
import StateMachineCore

/// Runs a command once for each change, in order; only its success lets the next change come.
///
/// The cursor is kept only after a change's command has succeeded: if this process or the daemon is
/// killed meanwhile, that change's command is run again.
struct EachRun: Sendable {
    /// The changes after a cursor.
    let watch: @Sendable (_ since: String?) -> Watch
    let command: ChildCommand
    /// Gives its standard input.
    let printer: LinePrinter
    /// Whether to retry a command that fails, for as long as it takes; otherwise it ends the watch.
    var isRetrying = false
    var file: CursorFile?
    /// The number of changes after which it ends.
    var count: Int?
    /// Called with what goes wrong.
    var complain: @Sendable (String) -> Void = { StandardError.write("statectl: \($0)") }

    /// Follows the changes after that cursor until there is a signal, or the watch ends.
    func run(since cursor: String?) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.follow(since: cursor) }
            group.addTask {
                for await number in Signals.stream(Signals.ending) {
                    throw ProcessEnd.signal(number)
                }
            }
            var end: (any Error)?
            do {
                try await group.next()
            } catch {
                end = error
            }
            group.cancelAll()
            // A running command may finish, and what it has done is kept.
            while let result = await group.nextResult() {
                if case .failure(let error) = result, !(error is CancellationError) {
                    end = end ?? error
                }
            }
            if let end { throw end }
        }
    }

    private func follow(since cursor: String?) async throws {
        var progress = EachProgress(since: cursor)
        while try await self.follow(&progress) { progress.subscribedAnew() }
    }

    /// Follows one watch; returns whether to follow another after the last change dealt with.
    private func follow(_ progress: inout EachProgress) async throws -> Bool {
        for try await event in self.watch(progress.cursor) {
            switch event {
            case .line(let line):
                if progress.isInterrupted { self.complain("connected") }
                switch progress.lineReceived(line) {
                case .run(let event, let resync):
                    try await self.deal(with: line, as: event, resync: resync)
                    try self.keep(line, &progress)
                    if progress.count == self.count { return false }
                case .keep: try self.keep(line, &progress)
                case .pass: break
                case .readAgain: return true
                }
                try Task.checkCancellation()
            case .reached: return false
            case .interrupted(let error, let attempt, _):
                progress.isInterrupted = true
                guard attempt == 1 else { continue }
                self.complain(progress.isKnown ? error.reconnecting : error.awaiting)
            }
        }
        return false
    }

    private func keep(_ line: Line, _ progress: inout EachProgress) throws {
        guard let cursor = line.cursor, cursor != progress.cursor else { return }
        try self.file?.write(cursor)
        progress.cursor = cursor
    }

    /// Runs the command until it succeeds.
    private func deal(with line: Line, as event: WatchEvent, resync: String?) async throws {
        let environment = LineEnvironment.watch(line, event: event.rawValue, resync: resync)
        let input = self.printer.input(line, as: event)
        var pauses = GrowingPause()
        while true {
            let command = self.command
            // Not cancelled with this task, so that it can finish.
            let run = Task { await command.run(environment: environment, input: input) }
            let ending = await run.value
            guard let complaint = ending.complaint(about: command) else { return }
            let place = "change \(line.seq.map(String.init) ?? "?")"
            guard self.isRetrying else {
                self.complain("\(complaint); \(place) counts as not dealt with")
                throw ExitStatus.no
            }
            let pause = pauses.next()
            self.complain("\(complaint); trying \(place) again in \(pause / .seconds(1)) s")
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
    /// The number of changes whose command has succeeded, or is to.
    private(set) var count = 0
    /// Whether a daemon has ever answered.
    private(set) var isKnown = false
    /// Whether there is no connection.
    var isInterrupted = false
    /// Why changes may be missing before the next line that the command is run for.
    private var resync: String?
    /// Whether this subscription has brought anything.
    private var hasMoved = false

    init(since cursor: String?) {
        self.cursor = cursor
    }

    mutating func subscribedAnew() { self.hasMoved = false }

    mutating func lineReceived(_ line: Line) -> Action {
        (self.isKnown, self.isInterrupted) = (true, false)
        switch line.kind {
        case .change: return self.run(.change)
        case .state:
            guard let resync = line.resync else { return self.moved(.keep) }
            // A slow reader is told to read on from the daemon's disk. If that gains nothing, the
            // lines are lost.
            if resync == "lagged", self.hasMoved, self.cursor != nil { return .readAgain }
            self.resync = resync
            return line.isSelected ? self.run(.state) : self.moved(.pass)
        // What is missing is asked for again until somebody has been told about it.
        case .live: return self.moved(self.resync == nil ? .keep : .pass)
        case .reply, .declared, .ask, .beat, .bye, .other: return .pass
        }
    }

    private mutating func run(_ event: WatchEvent) -> Action {
        self.count += 1
        defer { self.resync = nil }
        return self.moved(.run(event, resync: self.resync))
    }

    private mutating func moved(_ action: Action) -> Action {
        self.hasMoved = true
        return action
    }
}

import StateMachineClient
package import StateMachineCore
package import StateMachineDeclaration
package import StateMachineProtocol

/// Decides what is run and when: one command at a time, first the hooks of the changes in their order, then the
/// run of the present stay.
///
/// Each method takes an event and returns the actions that follow; effects and clocks are elsewhere.
package struct Conductor: Sendable {
    /// How the process is to end.
    package enum Ending: Hashable, Sendable {
        /// What runs is stopped.
        case stop
        /// What runs is left to the next process, if it outlives this one.
        case leave
    }

    /// Whether commands outlive this process.
    private let outlives: Bool

    private var file: DeclaredCommands
    /// Whether the newest change that was received is the newest there is.
    private var isCaughtUp = false
    /// Whether there is a connection that has not said anything yet: the daemon may have another numbering.
    private var awaitsLine = false
    /// Changes that have not been taken, oldest first; the caller reads `backlog` and keeps them few.
    private var queue: [Arrival] = []
    /// What is to be remembered.
    package private(set) var record: Record
    private var activity = Activity()
    private var ending: Ending?

    /// - Parameters:
    ///   - declaration: what the file said when it was read last.
    ///   - record: what the process before left; nil if there was none.
    ///   - known: the commands that the host has.
    ///   - boot: identifies this boot of the machine.
    ///   - outlives: whether commands outlive this process.
    ///   - label: what commands are named after.
    ///   - directory: where the daemon's doors are.
    ///   - now: the moment at which it begins.
    package init(
        _ declaration: Declaration,
        record: Record?,
        known: Set<CommandName>,
        boot: String,
        outlives: Bool,
        label: MachineLabel,
        directory: RuntimeDirectory,
        at now: StayMoment
    ) {
        self.file = DeclaredCommands(declaration, label: label, directory: directory)
        self.outlives = outlives
        self.record =
            record?.restored(among: known, boot: boot, outlives: outlives, at: now)
            ?? Record(boot: boot)
    }

    /// The known commands that belong to nothing here; the caller stops and forgets them.
    package func strays(among known: Set<CommandName>) -> Set<CommandName> {
        known.filter { !self.record.knows($0) }
    }

    /// How many changes wait.
    package var backlog: Int { self.queue.count }

    /// A line of the watch tells of a change.
    package mutating func received(_ change: StayChange, at now: StayMoment) -> [Action] {
        self.isCaughtUp = !change.isReplay
        self.awaitsLine = false
        self.queue.append(Arrival(change: change, file: self.file.inForce))
        return self.advanced(now)
    }

    /// Everything that was replayed has been received; `line` tells of the present state.
    package mutating func caughtUp(with line: Line? = nil, at now: StayMoment) -> [Action] {
        self.isCaughtUp = true
        self.awaitsLine = false
        // Updates that this process had heard of may be lost, which no change tells.
        if self.queue.isEmpty, let line { self.record.found(line) }
        return self.advanced(now)
    }

    /// There is a connection; nothing is told or begun before its first line.
    package mutating func connected(at now: StayMoment) -> [Action] {
        self.isCaughtUp = false
        self.awaitsLine = true
        if case .telling = self.record.run?.phase { self.activity.endPause() }
        return self.advanced(now)
    }

    /// The file has been read, and the daemon has the same one.
    package mutating func agreed(on declaration: Declaration, at now: StayMoment) -> [Action] {
        if self.file.agreed(on: declaration) { self.activity.note(.agrees) }
        return self.advanced(now)
    }

    /// The daemon has another file.
    package mutating func disagreed(at now: StayMoment) -> [Action] {
        if self.file.disagreed() { self.activity.note(.differs) }
        return self.advanced(now)
    }

    /// A command has ended; nil if the host has none of that name.
    package mutating func ended(
        _ name: CommandName,
        _ end: CommandEnd?,
        at now: StayMoment
    ) -> [Action] {
        guard self.activity.ends(.command(name)) else { return [] }
        if let end {
            self.activity.endTrouble()
            self.take(end, of: name, at: now)
        } else {
            self.record.lost()
            self.activity.pauseAfterTrouble { _ in .vanished(name) }
        }
        return self.advanced(now)
    }

    /// A command could not be started, or the host cannot be asked about it at the moment.
    package mutating func failed(
        _ name: CommandName,
        _ error: CommandHostError,
        isStart: Bool,
        at now: StayMoment
    ) -> [Action] {
        guard self.activity.ends(.command(name)) else { return [] }
        if isStart { self.record.doubted() }
        self.activity.pauseAfterTrouble { .trouble(name, error.description, retryingIn: $0) }
        return self.advanced(now)
    }

    /// Nothing is left of a command that was to be stopped.
    package mutating func stopped(
        _ name: CommandName,
        _ end: CommandEnd?,
        at now: StayMoment
    ) -> [Action] {
        guard self.activity.ends(.stopping(name)) else { return [] }
        if let end, end.kind != .interrupted, self.ending != nil {
            // It had ended by itself before the stop reached it.
            self.take(end, of: name, at: now)
        } else {
            if let end { self.note(end, of: name, isFailure: false) }
            if self.record.hooks != nil { self.activity.forget(name) }
            self.record.stopped()
        }
        return self.advanced(now)
    }

    /// The daemon has answered how the run of that stay ended, or could not be asked.
    package mutating func told(_ answer: Answer, stay: UInt64, at now: StayMoment) -> [Action] {
        guard let run = self.record.run, let name = run.name, case .telling(let end) = run.phase,
            self.activity.ends(.telling(stay))
        else { return [] }
        switch answer {
        case .refused(let code, let message):
            self.activity.pauseAfterTrouble { .refused(name, code, message, retryingIn: $0) }
        case .lost(let why): self.activity.pauseAfterTrouble { .untold(name, why, retryingIn: $0) }
        case .taken, .late, .unhandled:
            if answer == .unhandled { self.activity.note(.unhandled(name, end)) }
            self.activity.endTrouble()
            self.record.run?.phase = .over
            self.activity.order(.record)
            self.activity.forget(self.record.run?.release())
        }
        return self.advanced(now)
    }

    /// The time of an alarm has come.
    package mutating func woke(_ alarm: Int, at now: StayMoment) -> [Action] {
        if self.activity.hasLasted(alarm) {
            self.record.lasted(restarting: self.presentState?.declared.run?.restarts ?? false)
            return [.record]
        }
        guard self.activity.ends(.pausing(alarm)) else { return [] }
        self.record.woke()
        return self.advanced(now)
    }

    /// The process is to end.
    package mutating func end(_ ending: Ending, at now: StayMoment) -> [Action] {
        self.ending = ending == .leave && !self.outlives ? .stop : ending
        return self.advanced(now)
    }
}

// What to do next.
extension Conductor {
    /// Goes on until there is nothing to do before the next event.
    private mutating func advanced(_ now: StayMoment) -> [Action] {
        while self.step(now) {}
        return self.activity.takeActions()
    }

    /// Does one thing; false if nothing can be done before the next event.
    private mutating func step(_ now: StayMoment) -> Bool {
        if let ending { return self.stepToEnd(ending) }
        guard !self.awaitsLine else { return false }
        if let hooks = self.record.hooks { return self.step(hooks, now) }
        if let arrival = self.queue.first { return self.take(arrival) }
        if self.file.isNeedless {
            self.activity.note(.nothingToRun)
            self.ending = .stop
            return true
        }
        return self.stepRun(now)
    }

    /// The state whose run is due or runs; nil if the file does not know it.
    private var presentState: DeclaredState? {
        guard self.record.hooks == nil, let stay = self.record.stay else { return nil }
        return self.file.state(stay.state)
    }

    private mutating func stepToEnd(_ ending: Ending) -> Bool {
        switch ending {
        case .stop: guard self.activity.giveUp(begun: self.record.begun) else { return false }
        case .leave: guard !self.activity.isFinished else { return false }
        }
        self.activity.order(.record)
        self.activity.forget(self.record.run?.release())
        self.activity.finish()
        return false
    }

    private mutating func take(_ arrival: Arrival) -> Bool {
        let change = arrival.change
        guard change.leaves(self.record.stay) else {
            self.queue.removeFirst()
            self.record.updated(by: change)
            self.activity.order(.recordSoon)
            return true
        }
        guard self.activity.giveUp(begun: self.record.begun) else { return false }
        self.activity.forget(self.record.dropRun())
        self.activity.endTrouble()
        self.queue.removeFirst()
        self.record.left(by: change, under: arrival.file)
        self.noteGap(before: change, from: self.record.hooks?.left?.name)
        return true
    }

    private mutating func step(_ hooks: HookWork, _ now: StayMoment) -> Bool {
        guard self.activity.isNothing else { return false }
        let mayBegin = self.file.isAgreed
        if hooks.file == nil { self.record.hooks?.file = self.file.inForce }
        let hook = mayBegin ? self.record.hooks.flatMap { self.file.next(of: $0) } : nil
        let step = self.record.hooks?.step(hook, mayBegin: mayBegin, at: now) ?? .done
        guard case .done = step else {
            self.activity.perform(
                step,
                attempt: hooks.work.progress.attempt,
                stay: self.record.stay
            )
            self.expectLasting(self.record.hooks?.work, hook?.command.retry, restarting: false, now)
            return false
        }
        self.record.entered(by: hooks.change)
        // If the change had no hook, nothing is lost by looking at it again after a restart.
        self.activity.order(hooks.last == nil ? .recordSoon : .record)
        return true
    }

    private mutating func stepRun(_ now: StayMoment) -> Bool {
        guard let stay = self.record.stay, self.isCaughtUp else { return false }
        let isAgreed = self.file.isAgreed
        let state = self.file.state(stay.state)
        guard let state, let run = state.declared.run else {
            // The file declares no run for the state any more. If it does not even have the state, the daemon is
            // about to say that it has another file.
            guard state != nil, isAgreed, let work = self.record.run, work.phase != .over,
                self.activity.giveUp(begun: self.record.begun)
            else { return false }
            self.activity.forget(self.record.dropRun())
            self.activity.order(.record)
            return true
        }
        guard self.activity.isNothing else { return false }
        var before = self.record.run ?? RunWork()
        let order = self.file.order(run, of: stay, in: state, before)
        // One that the record does not have ended all the same, as far as is known.
        if case .ended = before.phase, before.name == nil { before.name = order.name }
        var work = before
        let step = work.step(isAgreed ? order : nil, in: state, at: now)
        self.record.run = work
        if work.phase != before.phase { self.activity.order(.record) }
        self.noteEnd(of: before, step, work.progress)
        self.activity.perform(step, attempt: self.record.attempt, stay: stay)
        self.expectLasting(work, run.command.retry, restarting: run.restarts, now)
        return false
    }

    /// Notes what follows the end of an attempt, if it leads nowhere by itself.
    private mutating func noteEnd(of work: RunWork, _ step: WorkStep, _ now: RunProgress) {
        guard case .ended(let end) = work.phase, let name = work.name else { return }
        if case .blocked = step { return }
        let isOver = if case .tell = step { true } else { false }
        // One that leads where "interrupted" says is in no row.
        if end == .interrupted, !isOver || self.presentState?.isRunAgain != false {
            let row = work.progress.interruptions + 1
            let isFailure = now.interruptions < row
            let attempt = work.progress.attempt
            self.activity.note(.interruptions(name, row, attempt: attempt, isFailure: isFailure))
        }
        if case .pause(let wait) = step { self.activity.note(.triedAgain(name, after: wait)) }
    }

    /// If a command has just been begun or found, and has been interrupted: waits until it has lasted.
    private mutating func expectLasting(
        _ work: RunWork?,
        _ retry: Retry?,
        restarting: Bool,
        _ now: StayMoment
    ) {
        let time = work?.untilLasting(retrying: retry, restarting: restarting, at: now)
        if let time { self.activity.expectLasting(for: time) }
    }

    /// Takes the end of a command that this process did not stop, or stopped too late.
    private mutating func take(_ end: CommandEnd, of name: CommandName, at now: StayMoment) {
        let state = self.record.hooks == nil ? self.record.stay?.state : nil
        self.note(end, of: name, isFailure: self.file.isFailure(end.kind, in: state))
        self.activity.order(.record)
        if end.kind == .interrupted { self.activity.pauseAfterInterruption(of: name) }
        guard let hooks = self.record.hooks else {
            self.record.run?.ended(end.kind)
            return
        }
        let command = self.file.next(of: hooks)?.command
        if let wait = self.record.hooks?.ended(end.kind, of: command, at: now) {
            if wait > .zero { self.activity.note(.triedAgain(name, after: wait)) }
        } else {
            self.activity.forget(name)
        }
    }

    private mutating func note(_ end: CommandEnd, of name: CommandName, isFailure: Bool) {
        self.activity.note(.ended(name, end, attempt: self.record.attempt, isFailure: isFailure))
    }

    private mutating func noteGap(before change: StayChange, from left: String?) {
        guard let left else { return }
        switch change.kind {
        case .found(.missed(let count)):
            self.activity.note(.hooksUnknown(count, from: left, to: change.state.name))
        case .found(.otherNumbering):
            self.activity.note(.hooksUnknown(nil, from: left, to: change.state.name))
        case .found(.none), .entered, .updated: break
        }
        let file = self.record.hooks?.file
        for state in [change.from, change.state].compactMap(\.self)
        where self.file.isAgreed && self.file.state(state, of: file) == nil {
            self.activity.note(.stateUnknown(state.name))
        }
    }
}

package import StateMachineCore
package import StateMachineDeclaration
import StateMachineProtocol

/// Decides what is run and when: one command at a time, hooks in the order of the changes, and then what
/// the present stay asks for.
///
/// Each method takes something that has happened and returns what is to be done about it; effects and
/// clocks are elsewhere.
package struct Conductor: Sendable {
    /// How the process is to end.
    package enum Ending: Hashable, Sendable {
        /// What runs is stopped.
        case stop
        /// What runs is left to whoever comes next, if it outlives this process.
        case leave
    }

    /// How long after a command was stopped by nobody here it is decided what follows.
    ///
    /// 5 s: what stops it may be the stop of the whole machine, which comes to this process too; what a boot
    /// does goes before what an interruption does.
    private static let interruptionPause = Duration.seconds(5)

    /// Whether commands outlive this process.
    private let outlives: Bool
    private let boot: String

    private var file: DeclaredCommands
    /// Whether the newest change that was heard of is the newest there is.
    private var isCaughtUp = false
    /// Changes that have not been taken, oldest first; whoever hands them in sees to it that they are few.
    private var queue: [Change] = []

    /// Of the last change of which all is done.
    private var cursor: String?
    private var stay: EnteredStay?
    /// What is under way between two stays.
    private var hooks: HookWork?
    /// What is run, or was, in the stay; nil before it is looked at and between two stays.
    private var run: RunWork?

    private var activity = Activity()
    private var trouble = GrowingPause()
    private var ending: Ending?
    private var actions: [Action] = []

    /// - Parameters:
    ///   - declaration: what the file said when it was read last.
    ///   - record: what the process before left; nil if there was none.
    ///   - known: the commands that are there.
    ///   - boot: which start of the machine this is.
    ///   - outlives: whether commands outlive this process.
    ///   - orders: makes of a command what a host is given.
    package init(
        _ declaration: Declaration,
        record: Record?,
        known: Set<CommandName>,
        boot: String,
        outlives: Bool,
        orders: CommandOrders
    ) {
        self.file = DeclaredCommands(declaration, orders)
        self.outlives = outlives
        self.boot = boot
        self.cursor = record?.cursor
        self.stay = record?.stay
        self.hooks = record?.hooks
        self.run = record?.run
        self.hooks?.restored(among: known)
        self.run?.restored(among: known, outlived: outlives && record?.boot == boot)
    }

    /// Of what is there, what nothing here knows of; it is to be stopped and forgotten.
    package func strays(among known: Set<CommandName>) -> Set<CommandName> {
        known.filter { $0 != self.hooks?.name && $0 != self.run?.name }
    }

    /// Where the watch goes on; nil to begin with the state as it is.
    package var since: String? { self.hooks?.change.cursor ?? self.cursor }

    /// What is to be remembered.
    package var record: Record {
        Record(
            boot: self.boot,
            cursor: self.cursor,
            stay: self.stay,
            hooks: self.hooks,
            run: self.run
        )
    }

    /// How many changes wait.
    package var backlog: Int { self.queue.count }

    /// A line of the watch says something.
    package mutating func received(_ change: Change, at now: WallTime) -> [Action] {
        self.isCaughtUp = !change.isReplay
        self.queue.append(change)
        return self.advanced(now)
    }

    /// All that was replayed has been heard.
    package mutating func caughtUp(at now: WallTime) -> [Action] {
        self.isCaughtUp = true
        return self.advanced(now)
    }

    /// There is a connection again.
    package mutating func connected(at now: WallTime) -> [Action] {
        if case .telling = self.run?.phase { self.activity.endPause() }
        return self.advanced(now)
    }

    /// The file has been read, and is what the daemon has.
    package mutating func agreed(on declaration: Declaration, at now: WallTime) -> [Action] {
        if self.file.agreed(on: declaration) { self.actions.append(.note(.agrees)) }
        if !declaration.hasCommands, self.ending == nil {
            self.actions.append(.note(.nothingToRun))
            self.ending = .stop
        }
        return self.advanced(now)
    }

    /// The file is not what the daemon has.
    package mutating func disagreed(at now: WallTime) -> [Action] {
        if self.file.disagreed() { self.actions.append(.note(.differs)) }
        return self.advanced(now)
    }

    /// A command has ended; nil if there is none of that name.
    package mutating func ended(
        _ name: CommandName,
        _ end: CommandEnd?,
        at now: WallTime
    ) -> [Action] {
        guard self.activity.ends(.command(name)) else { return [] }
        if let end {
            self.trouble.reset()
            self.take(end, of: name, at: now)
        } else {
            self.actions.append(.note(.vanished(name)))
            self.begunInVain()
        }
        return self.advanced(now)
    }

    /// A command could not be started, or is not to be asked about at the moment.
    package mutating func failed(
        _ name: CommandName,
        _ error: CommandHostError,
        isStart: Bool,
        at now: WallTime
    ) -> [Action] {
        guard self.activity.ends(.command(name)) else { return [] }
        let pause = self.trouble.next()
        self.actions.append(.note(.trouble(name, error.description, retryingIn: pause)))
        if isStart {
            self.hooks?.doubted()
            self.run?.doubted()
        }
        self.pause(pause)
        return self.advanced(now)
    }

    /// Nothing is left of a command that was to be stopped.
    package mutating func stopped(
        _ name: CommandName,
        _ end: CommandEnd?,
        at now: WallTime
    ) -> [Action] {
        guard self.activity.ends(.stopping(name)) else { return [] }
        if let end, end.kind != .stopped, self.ending != nil {
            // It was over before it was stopped.
            self.take(end, of: name, at: now)
        } else {
            if let end { self.note(end, of: name, isFailure: false) }
            if self.hooks != nil { self.actions.append(.forget(name)) }
            self.hooks?.lost()
            self.run?.ended(.interrupted)
        }
        return self.advanced(now)
    }

    /// The daemon has answered to the end of the run of that stay, or could not be asked.
    package mutating func told(
        _ answer: Answer,
        stay: UInt64,
        at now: WallTime
    ) -> [Action] {
        guard let run = self.run, let name = run.name, case .telling(let end) = run.phase,
            self.activity.ends(.telling(stay))
        else { return [] }
        switch answer {
        case .refused(let code, let message):
            let pause = self.trouble.next()
            self.actions.append(.note(.refused(name, code, message, retryingIn: pause)))
            self.pause(pause)
        case .lost(let why):
            let pause = self.trouble.next()
            self.actions.append(.note(.untold(name, why, retryingIn: pause)))
            self.pause(pause)
        case .taken, .late, .unhandled:
            if answer == .unhandled { self.actions.append(.note(.unhandled(name, end))) }
            self.trouble.reset()
            self.run?.phase = .over
            self.actions.append(.record)
            self.forgetRun()
        }
        return self.advanced(now)
    }

    /// The time of an alarm has come.
    package mutating func woke(_ alarm: Int, at now: WallTime) -> [Action] {
        guard self.activity.ends(.pausing(alarm)) else { return [] }
        self.hooks?.woke()
        self.run?.woke()
        return self.advanced(now)
    }

    /// The process is to end.
    package mutating func end(_ ending: Ending, at now: WallTime) -> [Action] {
        self.ending = ending == .leave && !self.outlives ? .stop : ending
        return self.advanced(now)
    }
}

// What follows from what is known.
extension Conductor {
    /// Goes on until there is nothing to do before something happens.
    private mutating func advanced(_ now: WallTime) -> [Action] {
        while self.step(now) {}
        defer { self.actions = [] }
        return self.actions
    }

    /// Does one thing; false if nothing can be done now.
    private mutating func step(_ now: WallTime) -> Bool {
        if let ending { return self.stepToEnd(ending) }
        if self.hooks != nil { return self.stepHooks(now) }
        if let change = self.queue.first { return self.take(change) }
        return self.stepRun(now)
    }

    private mutating func stepToEnd(_ ending: Ending) -> Bool {
        switch self.activity.kind {
        case .finished: return false
        case .command(let name) where ending == .stop:
            self.stop(name)
            return false
        case .stopping where ending == .stop: return false
        case .nothing, .command, .stopping, .telling, .pausing:
            if ending == .stop, let name = self.unwatched {
                self.stop(name)
                return false
            }
            self.actions.append(.record)
            self.forgetRun()
            self.actions.append(.finish)
            self.activity.begin(.finished)
            return false
        }
    }

    private mutating func take(_ change: Change) -> Bool {
        guard change.leaves(self.stay) else {
            self.queue.removeFirst()
            self.stay?.state = change.state
            self.cursor = change.cursor
            self.actions.append(.recordSoon)
            return true
        }
        switch self.activity.kind {
        case .command(let name):
            self.stop(name)
            return false
        case .stopping, .finished: return false
        case .nothing, .telling, .pausing:
            if let name = self.unwatched {
                self.stop(name)
                return false
            }
            self.activity.cutShort()
        }
        self.forgetRun()
        self.run = nil
        self.trouble.reset()
        self.queue.removeFirst()
        let left = change.from ?? self.stay?.state
        self.noteGap(before: change, from: left?.name)
        self.hooks = HookWork(change, left: left, leftStay: self.stay?.number)
        return true
    }

    private mutating func stepHooks(_ now: WallTime) -> Bool {
        guard self.activity.isNothing, let hooks = self.hooks else { return false }
        let mayBegin = self.file.isAgreed
        let hook = mayBegin ? self.file.next(of: hooks) : nil
        let step = self.hooks?.step(hook, mayBegin: mayBegin, at: now) ?? .done
        guard case .done = step else {
            self.perform(step, attempt: hooks.attempt)
            return false
        }
        self.cursor = hooks.change.cursor
        self.stay = EnteredStay(hooks.change)
        self.hooks = nil
        // Without a hook it does not matter whether it was looked at.
        self.actions.append(hooks.last == nil ? .recordSoon : .record)
        return true
    }

    private mutating func stepRun(_ now: WallTime) -> Bool {
        guard let stay, self.isCaughtUp else { return false }
        let isAgreed = self.file.isAgreed
        let state = self.file.state(stay.state)
        guard let state, let run = state.declared.run else {
            // Nothing is declared to be run any more. Of a state that the file does not have the daemon is about to
            // say that another file does.
            guard state != nil, isAgreed, let work = self.run else { return false }
            if case .command(let name) = self.activity.kind { self.stop(name) }
            if let name = self.unwatched { self.stop(name) }
            guard work.phase != .over, !self.activity.isBusy else { return false }
            self.activity.cutShort()
            self.forgetRun()
            self.run = nil
            self.actions.append(.record)
            return true
        }
        guard self.activity.isNothing else { return false }
        let work = self.run ?? RunWork()
        let order = self.file.order(run, of: stay, in: state, work)
        self.run = work
        let before = work.phase
        let step = self.run?.step(isAgreed ? order : nil, of: run, at: now) ?? .done
        if self.run?.phase != before { self.actions.append(.record) }
        if case .pause(let wait) = step, case .ended = before, let name = work.name {
            self.actions.append(.note(.triedAgain(name, after: wait)))
        }
        self.perform(step, attempt: self.run?.progress.attempt ?? 1)
        return false
    }

    private mutating func perform(_ step: WorkStep, attempt: Int) {
        switch step {
        case .begin(let order, let afresh):
            self.actions += [
                .record, .note(.begun(order.name, attempt: attempt)),
                .begin(order, afresh: afresh),
            ]
            self.activity.begin(.command(order.name))
        case .await(let name):
            self.actions.append(.await(name))
            self.activity.begin(.command(name))
        case .pause(let duration): self.pause(duration)
        case .tell(let end):
            guard let stay else { return }
            self.actions.append(.tell(end, stay: stay.number))
            self.activity.begin(.telling(stay.number))
        case .blocked, .done: break
        }
    }

    /// Takes the end of what was under way.
    private mutating func take(_ end: CommandEnd, of name: CommandName, at now: WallTime) {
        self.note(
            end,
            of: name,
            isFailure: self.file.isFailure(end.kind, in: self.hooks == nil ? self.stay?.state : nil)
        )
        self.actions.append(.record)
        if end.kind == .stopped {
            self.actions.append(.note(.interrupted(name)))
            self.pause(Self.interruptionPause)
        }
        guard let hooks = self.hooks else {
            self.run?.ended(RunEnd(end.kind))
            return
        }
        let command = self.file.next(of: hooks)?.command
        if let wait = self.hooks?.ended(end.kind, of: command, at: now) {
            if wait > .zero { self.actions.append(.note(.triedAgain(name, after: wait))) }
        } else {
            self.actions.append(.forget(name))
        }
    }

    /// What was begun and is not waited for: an earlier process began it, or it is not to be asked about at the
    /// moment.
    private var unwatched: CommandName? {
        guard !self.activity.isBusy else { return nil }
        if let hooks { return hooks.name }
        return self.run?.phase == .running ? self.run?.name : nil
    }

    private mutating func stop(_ name: CommandName) {
        self.actions.append(.stop(name))
        self.activity.begin(.stopping(name))
    }

    private mutating func pause(_ duration: Duration) {
        let alarm = self.activity.beginPause()
        self.actions.append(.wake(alarm, after: duration))
    }

    /// It was begun and is not there: after a while it is begun again.
    private mutating func begunInVain() {
        self.hooks?.lost()
        self.run?.lost()
        self.pause(self.trouble.next())
    }

    private mutating func forgetRun() {
        guard let run = self.run, run.isKept, let name = run.name else { return }
        self.run?.isKept = false
        self.actions.append(.forget(name))
    }

    private mutating func note(_ end: CommandEnd, of name: CommandName, isFailure: Bool) {
        let attempt = self.hooks?.attempt ?? self.run?.progress.attempt ?? 1
        self.actions.append(
            .note(.ended(name, end, attempt: attempt, isFailure: isFailure))
        )
    }

    private mutating func noteGap(before change: Change, from left: String?) {
        guard let left else { return }
        switch change.kind {
        case .found(.missed(let count)):
            self.actions.append(.note(.hooksUnknown(count, from: left, to: change.state.name)))
        case .found(.otherNumbering):
            self.actions.append(.note(.hooksUnknown(nil, from: left, to: change.state.name)))
        case .found(.none), .entered, .updated: break
        }
        for state in [change.from, change.state].compactMap(\.self)
        where self.file.isAgreed && self.file.state(state) == nil {
            self.actions.append(.note(.stateUnknown(state.name)))
        }
    }
}

package import StateMachineClient
package import StateMachineCore
package import StateMachineDeclaration
import StateMachineProtocol

/// What a line of the watch says of the machine, as far as commands are concerned.
package struct Change: Hashable, Sendable {
    /// What it says.
    package enum Kind: Hashable, Sendable {
        /// A state was entered: a new stay.
        case entered
        /// The state of the stay has other fields, or another name.
        case updated
        /// The present state, and how much is unknown about what led to it.
        case found(Gap)
    }

    /// What is not known of the changes before.
    package enum Gap: Hashable, Sendable {
        /// Nobody asked for earlier changes.
        case none
        /// That many changes of the same numbering are missing, if the number is known.
        case missed(UInt64?)
        /// The numbering is a different one.
        case otherNumbering
    }

    package let kind: Kind
    /// The seq that began the stay.
    package let stay: UInt64
    package let cursor: String
    package let state: NamedState
    /// The state before, where the line says.
    package let from: NamedState?
    /// Whether it is an old change that was asked for.
    package let isReplay: Bool
    /// The line itself.
    package let line: Line

    /// What a line of a watch says; nil if it is neither a change nor a state.
    package init?(_ line: Line) {
        guard let seq = line.seq, let state = line.state, let cursor = line.cursor else {
            return nil
        }
        switch line.kind {
        case .change:
            self.kind = line.stay == nil ? .entered : .updated
        case .state:
            switch line.resync {
            case nil: self.kind = .found(.none)
            case "evicted", "lagged": self.kind = .found(.missed(line.missed))
            default: self.kind = .found(.otherNumbering)
            }
        case .reply, .live, .declared, .ask, .beat, .bye, .other: return nil
        }
        self.stay = line.stay ?? seq
        self.cursor = cursor
        self.state = state
        self.from = line.from
        self.isReplay = line.isReplay
        self.line = line
    }

    /// Whether it leads out of that stay; if none is known, into the first.
    func leaves(_ stay: EnteredStay?) -> Bool {
        guard let stay else { return true }
        switch self.kind {
        case .entered, .found(.otherNumbering): return true
        // A stay cannot have been updated before it was entered.
        case .updated, .found(.none), .found(.missed): return self.stay != stay.number
        }
    }
}

/// The stay that was entered last.
package struct EnteredStay: Hashable, Sendable {
    /// The seq that began it.
    package let number: UInt64
    /// The present state.
    package var state: NamedState
    /// The line that began it, or the first that mentioned it.
    package let line: Line

    init(number: UInt64, state: NamedState, line: Line) {
        self.number = number
        self.state = state
        self.line = line
    }

    init(_ change: Change) {
        self.init(number: change.stay, state: change.state, line: change.line)
    }
}

/// The stay that was entered last, and how far the hooks of the next change or the run have come.
///
/// This is all that a `Record` keeps; what is under way in this process alone is in `Activity`.
struct StayWork {
    private let boot: String
    /// The cursor of the last change for which everything is done.
    private var cursor: String?
    /// The stay that was entered last.
    private(set) var stay: EnteredStay?
    /// The hooks between two stays; nil within a stay.
    private(set) var hooks: HookWork?
    /// The run of the stay; nil between two stays, and before the stay is looked at.
    private(set) var run: RunWork?

    /// Goes on from what the process before left; nil if there was none.
    init(_ record: Record?, known: Set<CommandName>, boot: String, outlives: Bool) {
        self.boot = boot
        self.cursor = record?.cursor
        self.stay = record?.stay
        self.hooks = record?.hooks
        self.run = record?.run
        self.hooks?.restored(among: known)
        self.run?.restored(among: known, outlived: outlives && record?.boot == boot)
    }

    var record: Record {
        Record(
            boot: self.boot,
            cursor: self.cursor,
            stay: self.stay,
            hooks: self.hooks,
            run: self.run
        )
    }

    /// Where the watch goes on; nil to begin with the state as it is.
    var since: String? { self.hooks?.change.cursor ?? self.cursor }

    /// The cursor with which the stay began; nil between two stays.
    var stayBeginning: String? { self.hooks == nil ? self.stay?.line.cursor : nil }

    /// The command that was begun and has not ended, as far as is known.
    var begun: CommandName? {
        if let hooks { return hooks.name }
        return self.run?.phase == .running ? self.run?.name : nil
    }

    /// The attempt of the next hook, or of the run.
    var attempt: Int { self.hooks?.attempt ?? self.run?.progress.attempt ?? 1 }

    func knows(_ name: CommandName) -> Bool { name == self.hooks?.name || name == self.run?.name }

    /// The stay goes on; its state may have changed.
    mutating func updated(by change: Change) {
        self.stay?.state = change.state
        self.cursor = change.cursor
    }

    /// The stay goes on in the state that the line has, unless it is being left.
    mutating func found(_ line: Line) {
        guard self.hooks == nil, self.stay != nil, let state = line.state else { return }
        self.stay?.state = state
        self.cursor = line.cursor ?? self.cursor
    }

    /// The stay is left, and its run was dropped: the hooks of the change are next.
    mutating func left(by change: Change) {
        self.hooks = HookWork(
            change,
            left: change.from ?? self.stay?.state,
            leftStay: self.stay?.number
        )
    }

    /// Says what the hooks need next; when they are done, the new stay is entered.
    mutating func stepHooks(_ hook: HookWork.Hook?, mayBegin: Bool, at now: WallTime) -> WorkStep {
        let step = self.hooks?.step(hook, mayBegin: mayBegin, at: now) ?? .done
        if case .done = step, let change = self.hooks?.change {
            self.cursor = change.cursor
            self.stay = EnteredStay(change)
            self.hooks = nil
        }
        return step
    }

    /// Says what the run needs next; `order` is nil while nothing may be begun.
    mutating func stepRun(
        _ order: CommandOrder?,
        of declared: DeclaredCase.Run,
        at now: WallTime
    ) -> WorkStep {
        var run = self.run ?? RunWork()
        defer { self.run = run }
        return run.step(order, of: declared, at: now)
    }

    /// A hook has ended; returns after which time it is tried again, nil if it has ended for good.
    mutating func hookEnded(
        _ kind: CommandEnd.Kind,
        of command: DeclaredCommand?,
        at now: WallTime
    ) -> Duration? {
        self.hooks?.ended(kind, of: command, at: now)
    }

    mutating func runEnded(_ end: RunEnd) { self.run?.ended(end) }

    /// The daemon knows how the run ended.
    mutating func runTold() { self.run?.phase = .over }

    /// The command was stopped by this process: a hook is begun again, a run was interrupted.
    mutating func stopped() {
        self.hooks?.lost()
        self.run?.ended(.interrupted)
    }

    /// The command is not there: it is begun again.
    mutating func lost() {
        self.hooks?.lost()
        self.run?.lost()
    }

    /// The start of the command failed, which does not say whether it runs.
    mutating func doubted() {
        self.hooks?.doubted()
        self.run?.doubted()
    }

    /// The time of a pause has come.
    mutating func woke() {
        self.hooks?.woke()
        self.run?.woke()
    }

    /// The host may forget the end of the run; returns its name, nil if the host has no end of it.
    mutating func releaseRun() -> CommandName? { self.run?.release() }

    /// Nothing is run in this stay any more; returns what `releaseRun` does.
    mutating func dropRun() -> CommandName? {
        defer { self.run = nil }
        return self.releaseRun()
    }
}

/// The commands of leaving and entering for one change, and how far they have come.
package struct HookWork: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// The next one is to be begun.
        case due
        /// That one was begun, as far as is known.
        case running(CommandName)
        /// The next one is tried again at that time.
        case pausing(until: WallTime)
    }

    /// A command as it is declared, and the order that begins it.
    struct Hook {
        let key: CommandName.Key
        let command: DeclaredCommand
        let order: CommandOrder
    }

    /// How often in a row an interrupted hook is run again, as for a run.
    private static let mostInterruptions = 3

    package let change: Change
    /// The state that was left, as it was then; nil if there was none.
    package let left: NamedState?
    /// The stay that was left.
    package let leftStay: UInt64?

    package internal(set) var phase = Phase.due
    /// The last one that has ended for good; nil if none has.
    package internal(set) var last: CommandName.Key?
    /// The attempt of the next one, from 1, and how often in a row it was interrupted.
    package internal(set) var attempt = 1
    package internal(set) var interruptions = 0
    /// When the current or last attempt began.
    package internal(set) var since: WallTime?
    /// Whether the host still has an end, already dealt with, of an attempt of the next hook.
    private var isKept = false
    /// Whether starting it failed in a way that leaves open whether it runs.
    private var isUncertain = false

    init(_ change: Change, left: NamedState?, leftStay: UInt64?) {
        self.change = change
        self.left = left
        self.leftStay = leftStay
    }

    /// The name of the command that was begun.
    package var name: CommandName? {
        guard case .running(let name) = self.phase else { return nil }
        return name
    }

    /// Whether the hook with that key is still to come.
    func isAhead(_ key: CommandName.Key) -> Bool { self.last.map { $0.precedes(key) } ?? true }

    /// Decides what is next and enters the phase for it; `hook` is the first still to come, nil if
    /// there is none.
    mutating func step(_ hook: Hook?, mayBegin: Bool, at now: WallTime) -> WorkStep {
        switch self.phase {
        case .due:
            guard mayBegin else { return .blocked }
            guard let hook else { return .done }
            defer { self.isKept = false }
            self.phase = .running(hook.order.name)
            self.since = now
            return .begin(hook.order, afresh: self.isKept)
        case .running(let name):
            guard self.isUncertain, mayBegin, let hook, hook.order.name == name else {
                return .await(name)
            }
            self.isUncertain = false
            return .begin(hook.order, afresh: false)
        case .pausing(let until):
            let longest = hook?.command.retry?.longest ?? .zero
            return .pause(min(max(.zero, now.duration(to: until)), longest))
        }
    }

    /// Notes the end of the command; `command` is what is declared, nil if it is gone.
    ///
    /// Returns after which time it is retried; nil if it has ended for good.
    mutating func ended(
        _ kind: CommandEnd.Kind,
        of command: DeclaredCommand?,
        at now: WallTime
    ) -> Duration? {
        guard let key = self.name?.key else { return nil }
        self.isKept = true
        self.isUncertain = false
        switch kind {
        case .exit(0): break
        case .stopped:
            guard self.interruptions < Self.mostInterruptions else { break }
            self.interruptions += 1
            self.phase = .due
            return .zero
        case .exit, .signal, .timeout:
            self.interruptions = 0
            guard let wait = command?.retry?.wait(before: self.attempt) else { break }
            self.attempt += 1
            self.phase = .pausing(until: now + wait)
            return wait
        }
        self.last = key
        self.attempt = 1
        self.interruptions = 0
        self.isKept = false
        self.phase = .due
        return nil
    }

    /// Notes that the command was stopped with this process, or does not exist: it is begun again.
    mutating func lost() {
        if case .running = self.phase { self.phase = .due }
        self.isUncertain = false
    }

    /// Notes that the command may not have started: it is started again, unless it exists.
    mutating func doubted() { self.isUncertain = self.name != nil }

    /// Ends the pause, as its time has come.
    mutating func woke() {
        if case .pausing = self.phase { self.phase = .due }
    }

    /// Checks which commands exist after a restart of this process.
    mutating func restored(among known: Set<CommandName>) {
        if let name = self.name, !known.contains(name) { self.phase = .due }
    }
}

extension CommandName.Key {
    /// Whether a hook comes before another of the same change.
    func precedes(_ other: CommandName.Key) -> Bool {
        switch (self, other) {
        case (.leave(let left), .leave(let right)), (.enter(let left), .enter(let right)):
            left < right
        case (.leave, .enter): true
        case (.enter, .leave), (.run, _), (_, .run): false
        }
    }
}

/// How far the run of a stay has come.
package struct RunWork: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// It is to be begun.
        case due
        /// It was begun, as far as is known.
        case running
        /// It has ended like that; what follows is to be decided.
        case ended(RunEnd)
        /// It is tried again at that time.
        case pausing(until: WallTime)
        /// It is over, and the daemon is to be told.
        case telling(RunEnd)
        /// The daemon knows, and the stay goes on, or has ended.
        case over
    }

    package internal(set) var phase = Phase.due
    package internal(set) var progress = RunProgress()
    /// The name of its command, once begun; it stays the same if the state is renamed.
    package internal(set) var name: CommandName?
    /// When the current or last attempt began.
    package internal(set) var since: WallTime?
    /// Whether the host still has the end of an attempt, which has been taken.
    private var isKept = false
    /// Whether starting it failed in a way that leaves open whether it runs.
    private var isUncertain = false

    init() {}

    /// Decides what is next and enters the phase for it; `order` is the command if it may be begun
    /// now, `run` what is declared, nil while that is not known.
    mutating func step(
        _ order: CommandOrder?,
        of run: DeclaredCase.Run?,
        at now: WallTime
    ) -> WorkStep {
        if case .ended(let end) = self.phase {
            // What another end leads to, or whether it is retried, only the daemon's file can say.
            guard let run, order != nil || end == .exit(0) else { return .blocked }
            switch self.progress.ended(end, of: run) {
            case .over(let end): self.phase = .telling(end)
            case .again(.zero): self.phase = .due
            case .again(let wait): self.phase = .pausing(until: now + wait)
            }
        }
        switch self.phase {
        case .due, .ended:
            guard let order else { return .blocked }
            defer { self.isKept = false }
            self.phase = .running
            self.name = order.name
            self.since = now
            return .begin(order, afresh: self.isKept)
        case .running:
            guard self.isUncertain, let order else { return self.name.map { .await($0) } ?? .done }
            self.isUncertain = false
            return .begin(order, afresh: false)
        case .pausing(let until):
            // The wall clock may have been set meanwhile.
            let longest = run?.command.retry?.longest ?? .zero
            return .pause(min(max(.zero, now.duration(to: until)), longest))
        case .telling(let end): return .tell(end)
        case .over: return .done
        }
    }

    /// Notes that the command has ended.
    mutating func ended(_ end: RunEnd) {
        self.phase = .ended(end)
        self.isKept = true
        self.isUncertain = false
    }

    /// The host may forget the end of the command; returns its name, nil if the host has no end of it.
    mutating func release() -> CommandName? {
        defer { self.isKept = false }
        return self.isKept ? self.name : nil
    }

    /// Notes that the command does not exist: it is begun again.
    mutating func lost() {
        if self.phase == .running { self.phase = .due }
        self.isUncertain = false
    }

    /// Notes that the command may not have started: it is started again, unless it exists.
    mutating func doubted() { self.isUncertain = self.phase == .running }

    /// Ends the pause, as its time has come.
    mutating func woke() {
        if case .pausing = self.phase { self.phase = .due }
    }

    /// Checks whether the command exists after a restart of this process; `outlived` says that a
    /// missing one has not just ended with this process, or the machine.
    mutating func restored(among known: Set<CommandName>, outlived: Bool) {
        let isKnown = self.name.map(known.contains) ?? false
        if self.phase != .running {
            self.isKept = isKnown
        } else if !isKnown {
            self.phase = outlived ? .due : .ended(.interrupted)
        }
    }
}

extension RunEnd {
    /// What the end of a command means for a run.
    init(_ kind: CommandEnd.Kind) {
        switch kind {
        case .exit(let code): self = .exit(code)
        case .signal(let name): self = .signal(name)
        case .timeout: self = .timeout
        case .stopped: self = .interrupted
        }
    }
}

extension WallTime {
    static func + (time: WallTime, duration: Duration) -> WallTime {
        WallTime(microseconds: time.microseconds + duration.wholeMilliseconds * 1000)
    }

    /// Negative if the other one is earlier.
    func duration(to other: WallTime) -> Duration {
        .microseconds(other.microseconds - self.microseconds)
    }
}

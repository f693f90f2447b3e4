import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

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

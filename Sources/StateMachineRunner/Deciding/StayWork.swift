import StateMachineClient
import StateMachineCore
package import StateMachineDeclaration
package import StateMachineProtocol

/// What a line of the watch says of the machine, as far as commands are concerned.
package struct StayChange: Hashable, Sendable {
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
        case .change: self.kind = line.stay == nil ? .entered : .updated
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

    /// Names the stay over all numberings: `<epoch>:<number>`.
    package var cursor: String? {
        self.line.cursor?.lastIndex(of: ":").map { end in
            "\(self.line.cursor?[...end] ?? "")\(self.number)"
        }
    }
}

/// A declaration that hooks are taken from; two of the same text are the same.
package struct FileInForce: Hashable, Sendable {
    let declaration: Declaration

    private var hash: String { self.declaration.recorded.hash }

    package static func == (left: FileInForce, right: FileInForce) -> Bool {
        left.hash == right.hash
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.hash) }
}

/// A change that has been received.
struct Arrival: Sendable {
    let change: StayChange
    /// The file that was in force then; nil if that was not known.
    let file: FileInForce?
}

/// The commands of leaving and entering for one change, and how far they have come.
package struct HookWork: Hashable, Sendable {
    package let change: StayChange
    /// The state that was left, as it was then; nil if there was none.
    package let left: NamedState?
    /// The stay that was left.
    package let leftStay: UInt64?
    /// The file that they are declared in, whatever is reloaded meanwhile; nil until the daemon has the one that was read.
    package internal(set) var file: FileInForce?

    /// How far the first that has not ended for good has come: it is due, runs, or pauses.
    package internal(set) var work = RunWork()
    /// The last one that has ended for good; nil if none has.
    package internal(set) var last: CommandName.Key?

    /// The name of the command that was begun.
    package var name: CommandName? { self.work.phase == .running ? self.work.name : nil }

    /// Whether the hook with that key is still to come.
    func isAhead(_ key: CommandName.Key) -> Bool { self.last.map { $0.precedes(key) } ?? true }

    /// Decides what is next and enters the phase for it; `hook` is the first still to come, nil if
    /// there is none.
    mutating func step(_ hook: CommandOrder?, mayBegin: Bool, at now: StayMoment) -> WorkStep {
        if self.work.phase == .due, mayBegin, hook == nil { return .done }
        let isAnother = self.name.map { $0 != hook?.name } ?? false
        return self.work.step(mayBegin && !isAnother ? hook : nil, at: now)
    }

    /// Notes the end of the command; `command` is what is declared, nil if it is gone.
    ///
    /// Returns after which time it is retried; nil if it has ended for good.
    mutating func ended(
        _ kind: RunEnd,
        of command: DeclaredCommand?,
        at now: StayMoment
    ) -> Duration? {
        guard let key = self.name?.key else { return nil }
        self.work.ended(kind)
        switch self.work.progress.ended(kind, retrying: command?.retry) {
        case .again(let wait):
            self.work.again(after: wait, at: now)
            return wait
        case .over:
            self.last = key
            self.work = RunWork()
            return nil
        }
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

/// How far a command has come: the run of a stay, or a hook.
package struct RunWork: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// It is to be begun.
        case due
        /// It was begun, as far as is known.
        case running
        /// It has ended like that; what follows is to be decided.
        case ended(RunEnd)
        /// It is tried again after that.
        case pausing(Pause)
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
    package internal(set) var since: Beginning?
    /// Whether the host still has the end of an attempt, which has been taken.
    private var isKept = false
    /// Whether starting it failed in a way that leaves open whether it runs.
    private var isUncertain = false
    /// Whether the record does not say how far it has come: if the host does not have it, it was interrupted.
    private(set) var isDoubtful = false

    init() {}

    /// One of which nobody knows how far it has come.
    init(doubtful name: CommandName?) {
        self.name = name
        self.phase = .running
        self.isDoubtful = true
    }

    /// Decides what is next and enters the phase for it; `order` is the command if it may be begun
    /// now, `state` the one whose command it is, nil while that is not known.
    mutating func step(
        _ order: CommandOrder?,
        in state: DeclaredState,
        at now: StayMoment
    ) -> WorkStep {
        if case .ended(let end) = self.phase {
            // What another end leads to, or whether it is retried, only the daemon's file can say.
            guard let run = state.declared.run, order != nil || end == .exit(0) && !run.restarts
            else { return .blocked }
            switch self.progress.ended(end, in: state) {
            case .over(let end): self.phase = .telling(end)
            case .again(let wait): self.again(after: wait, at: now)
            }
        }
        return self.step(order, at: now)
    }

    /// The same for a command whose end leads nowhere by itself.
    mutating func step(_ order: CommandOrder?, at now: StayMoment) -> WorkStep {
        switch self.phase {
        case .due, .ended:
            guard let order else { return .blocked }
            defer { self.isKept = false }
            self.phase = .running
            self.name = order.name
            self.since = Beginning(now)
            return .begin(order, afresh: self.isKept)
        case .running:
            guard self.isUncertain, let order else { return self.name.map { .await($0) } ?? .done }
            self.isUncertain = false
            return .begin(order, afresh: false)
        case .pausing(let pause): return .pause(pause.left(at: now))
        case .telling(let end): return .tell(end)
        case .over: return .done
        }
    }

    /// It is tried again after that time.
    mutating func again(after wait: Duration, at now: StayMoment) {
        self.phase = wait == .zero ? .due : .pausing(Pause(wait, from: Beginning(now)))
    }

    /// After which time the attempt that runs has lasted, as `RunProgress.lasting` says; nil if that changes nothing.
    func untilLasting(
        retrying retry: Retry?,
        restarting: Bool,
        at now: StayMoment
    ) -> Duration? {
        guard self.phase == .running, let since else { return nil }
        return self.progress.lasting(retrying: retry, restarting: restarting).map {
            max(.zero, $0 - since.elapsed(at: now))
        }
    }

    /// Notes that the command has ended.
    mutating func ended(_ end: RunEnd) {
        self.phase = .ended(end)
        self.isKept = true
        self.isUncertain = false
        self.isDoubtful = false
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
    mutating func restored(
        among known: Set<CommandName>,
        outlived: Bool,
        inSameBoot: Bool,
        at now: StayMoment
    ) {
        let isKnown = self.name.map(known.contains) ?? false
        if self.phase != .running {
            self.isKept = isKnown
        } else if !isKnown {
            self.phase = outlived && !self.isDoubtful ? .due : .ended(.interrupted)
            self.isDoubtful = false
        }
        if !inSameBoot { self.since = self.since?.ofAnotherBoot }
        if case .pausing(let pause) = self.phase {
            self.phase = .pausing(pause.carried(to: now, inSameBoot: inSameBoot))
        }
    }
}

extension WallTime {
    static func + (time: WallTime, duration: Duration) -> WallTime {
        WallTime(microseconds: time.microseconds + duration.wholeMicroseconds)
    }
}

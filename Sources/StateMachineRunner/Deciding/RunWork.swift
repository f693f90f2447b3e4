package import StateMachineCore
package import StateMachineDeclaration

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

package import StateMachineClient
package import StateMachineCore
import StateMachineDeclaration

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

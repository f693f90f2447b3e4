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

    /// A command as it is declared, and what it would be begun with.
    struct Hook {
        let key: CommandName.Key
        let command: DeclaredCommand
        let order: CommandOrder
    }

    /// How often in a row one that was interrupted is run again, as a run is.
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
    /// When the attempt that is under way, or was last, began.
    package internal(set) var since: WallTime?
    /// Whether the host still has the end of an attempt of the next one, which has been taken.
    private var isKept = false
    /// Whether starting it failed, which says nothing of whether it runs.
    private var isUncertain = false

    init(_ change: Change, left: NamedState?, leftStay: UInt64?) {
        self.change = change
        self.left = left
        self.leftStay = leftStay
    }

    /// What the command that was begun is called.
    package var name: CommandName? {
        guard case .running(let name) = self.phase else { return nil }
        return name
    }

    /// Whether one of that place is still to come.
    func isAhead(_ key: CommandName.Key) -> Bool { self.last.map { $0.precedes(key) } ?? true }

    /// What is next, and with that the phase in which it is done; `hook` is the first that is ahead, nil if there
    /// is none.
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

    /// The one that was begun has ended; `command` is what is declared, nil if it is not there any more.
    ///
    /// Returns after which time it is tried again; nil if it has ended for good.
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

    /// The command was stopped at the end of this process, or is not there: it is begun again.
    mutating func lost() {
        if case .running = self.phase { self.phase = .due }
        self.isUncertain = false
    }

    /// The command could not be started, or perhaps it could: it is started again, unless it is there.
    mutating func doubted() { self.isUncertain = self.name != nil }

    /// The time of a pause has come.
    mutating func woke() {
        if case .pausing = self.phase { self.phase = .due }
    }

    /// Looks at what is there after a restart of this process.
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

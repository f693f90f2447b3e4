import StateMachineClient
import StateMachineCore

/// What has been run since this process began.
struct CommandCounts {
    /// One command of the file.
    struct Key: Hashable, Comparable {
        let state: String
        let key: CommandName.Key

        static func < (left: Key, right: Key) -> Bool {
            (left.state, left.key.description) < (right.state, right.key.description)
        }
    }

    struct Count {
        var runs = 0
        var failures = 0
        /// How long those that have ended took in all.
        var time = Duration.zero
    }

    /// The last command that ended in a way that the file does not provide for.
    struct Failure {
        let name: CommandName
        let attempt: Int
        let end: CommandEnd.Kind
        let at: WallTime
    }

    private(set) var counts: [Key: Count] = [:]
    private(set) var lastFailure: Failure?

    mutating func note(_ notice: Notice, at now: WallTime) {
        switch notice {
        case .begun(let name, _): self.counts[Key(name), default: Count()].runs += 1
        case .ended(let name, let end, let attempt, let isFailure):
            self.counts[Key(name), default: Count()].time += end.duration
            guard isFailure else { return }
            self.counts[Key(name), default: Count()].failures += 1
            self.lastFailure = Failure(name: name, attempt: attempt, end: end.kind, at: now)
        case .triedAgain, .interrupted, .vanished, .trouble, .unhandled, .refused, .untold,
            .hooksUnknown, .stateUnknown, .differs, .agrees, .nothingToRun:
            break
        }
    }
}

extension CommandCounts.Key {
    fileprivate init(_ name: CommandName) { self.init(state: name.state, key: name.key) }
}

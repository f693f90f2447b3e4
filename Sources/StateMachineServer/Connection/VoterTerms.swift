import StateMachineCore
import StateMachineProtocol

/// What a hold or a guard does about a proposal of a state that it covers.
enum VoterTerms {
    /// A hold denies it.
    case block
    /// A hold makes it wait.
    case delay(maxMs: UInt64)
    /// A guard is asked.
    case ask(timeoutMs: UInt64, allowsOnTimeout: Bool)
    /// A required guard, not connected since then, denies it.
    case missing(since: WallTime)

    init(_ call: HoldCall) {
        switch call.effect {
        case .block: self = .block
        case .delay(let maxMs): self = .delay(maxMs: maxMs)
        }
    }

    init(_ call: GuardCall) {
        self = .ask(timeoutMs: call.deadlineMs, allowsOnTimeout: call.allowsOnTimeout)
    }

    /// Whether it is denied at once.
    var isBlocking: Bool {
        switch self {
        case .block, .missing: true
        case .delay, .ask: false
        }
    }

    /// Whether it is a hold, and not a guard.
    var isHold: Bool {
        switch self {
        case .block, .delay: true
        case .ask, .missing: false
        }
    }

    /// The reason of the no that its silence counts as; nil if it counts as a yes.
    var silence: String? {
        switch self {
        case .ask(_, allowsOnTimeout: false): "timeout"
        case .ask, .block, .delay, .missing: nil
        }
    }

    /// How long the machine waits for one whose client is away: a guard's question waits for the
    /// client, unless it is only told.
    var deadlineWhenAway: VoteDeadline {
        switch self {
        case .ask(let timeoutMs, _) where timeoutMs > 0:
            VoteDeadline(limit: nil, whenSilent: .yes)
        case .ask, .block, .delay, .missing: self.deadline
        }
    }

    /// How long the machine waits for a vote, and what silence counts as then.
    var deadline: VoteDeadline {
        switch self {
        case .block, .missing: VoteDeadline(limit: nil, whenSilent: .yes)
        case .delay(let maxMs): .postponing(atMost: .milliseconds(maxMs))
        case .ask(let timeoutMs, _):
            VoteDeadline(
                limit: .milliseconds(timeoutMs),
                whenSilent: self.silence.map { .no($0) } ?? .yes
            )
        }
    }

    /// What the voter of that number is called in the machine.
    func name(_ number: UInt64) -> VoterName {
        switch self {
        case .block, .delay: .hold(number)
        case .ask, .missing: .guard(number)
        }
    }
}

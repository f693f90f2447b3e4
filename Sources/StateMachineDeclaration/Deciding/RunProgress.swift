package import StateMachineProtocol

/// How often the command of one stay has been run, and whether it is run again.
package struct RunProgress: Hashable, Sendable {
    /// What follows the end of a command.
    package enum Step: Hashable, Sendable {
        /// The run is over with this end: ``Declaration/move(on:in:)`` says where that leads.
        case over(RunEnd)
        /// It is run again after that time.
        case again(after: Duration)
    }

    /// How often in a row a command that was interrupted is run again at once; the next interruption counts as a failure.
    private static let mostInterruptions = 3

    /// How long an attempt has to last at least before the next interruption is the first of a row.
    ///
    /// 1 min: a computer that goes down because of the command does so sooner.
    private static let leastTime = Duration.seconds(60)

    /// The attempt that is under way, from 1; interrupted ones are not counted.
    package private(set) var attempt: Int
    /// How often in a row it was interrupted.
    package private(set) var interruptions: Int

    /// A run that is about to begin, or one that has come as far as that.
    package init(attempt: Int = 1, interruptions: Int = 0) {
        self.attempt = attempt
        self.interruptions = interruptions
    }

    /// Notes an end of the run of that state, and returns what follows.
    package mutating func ended(_ end: RunEnd, in state: DeclaredState) -> Step {
        guard let run = state.declared.run else { return .over(end) }
        if case .exit(let code) = end, run.exits[code] != nil { return .over(end) }
        if end == .interrupted, !state.isRunAgain { return .over(end) }
        if end == .exit(0), run.restarts { return self.triedAgain(after: end, run.command.retry) }
        return self.ended(end, retrying: run.command.retry)
    }

    /// Notes an end of a command that leads nowhere by itself, and returns what follows.
    package mutating func ended(_ end: RunEnd, retrying retry: Retry?) -> Step {
        switch end {
        case .interrupted where self.interruptions < Self.mostInterruptions:
            self.interruptions += 1
            return .again(after: .zero)
        case .exit(0): return .over(end)
        case .interrupted, .exit, .signal, .timeout: return self.triedAgain(after: end, retry)
        }
    }

    private mutating func triedAgain(after end: RunEnd, _ retry: Retry?) -> Step {
        self.interruptions = 0
        guard let wait = retry?.wait(before: self.attempt) else { return .over(end) }
        self.attempt += 1
        return .again(after: wait)
    }

    /// How long the present attempt has to last so that ``lasted(restarting:)`` holds of it: a minute, and as long as the
    /// pause before it.
    ///
    /// Nil if nothing would change by that.
    package func lasting(retrying retry: Retry?, restarting: Bool) -> Duration? {
        guard self.interruptions > 0 || restarting && self.attempt > 1 else { return nil }
        let pause = self.attempt > 1 ? retry?.wait(before: self.attempt - 1) : nil
        return max(Self.leastTime, pause ?? .zero)
    }

    /// The present attempt has lasted that long: the next interruption is the first in a row, and what is begun again
    /// whenever it ends has its first pause again.
    package mutating func lasted(restarting: Bool) {
        self.interruptions = 0
        if restarting { self.attempt = 1 }
    }
}

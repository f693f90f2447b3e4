/// How often the command of one stay has been run, and whether it is run again.
package struct RunProgress: Hashable, Sendable {
    /// What follows the end of a command.
    package enum Step: Hashable, Sendable {
        /// The run is over with this end: ``Declaration/move(on:in:)`` says where that leads.
        case over(RunEnd)
        /// It is run again after that time.
        case again(after: Duration)
    }

    /// How often in a row a run that was interrupted is run again.
    private static let mostInterruptions = 3

    /// The attempt that is under way, from 1; interrupted ones are not counted.
    package private(set) var attempt: Int
    /// How often in a row it was interrupted.
    package private(set) var interruptions: Int

    /// A run that is about to begin, or one that has come as far as that.
    package init(attempt: Int = 1, interruptions: Int = 0) {
        self.attempt = attempt
        self.interruptions = interruptions
    }

    /// Notes an end of the command, and returns what follows.
    package mutating func ended(_ end: RunEnd, of run: DeclaredCase.Run) -> Step {
        switch end {
        case .interrupted:
            guard case .again = run.interrupted, self.interruptions < Self.mostInterruptions else {
                return .over(end)
            }
            self.interruptions += 1
            return .again(after: .zero)
        case .exit(0): return .over(end)
        case .exit(let code) where run.exits[code] != nil: return .over(end)
        case .exit, .signal, .timeout:
            self.interruptions = 0
            guard let wait = run.command.retry?.wait(before: self.attempt) else {
                return .over(end)
            }
            self.attempt += 1
            return .again(after: wait)
        }
    }
}

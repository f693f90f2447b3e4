package import StateMachineProtocol

/// How the command of a stay has ended.
package enum RunEnd: Hashable, Sendable {
    case exit(Int)
    /// The signal's name, as `SIGKILL`.
    case signal(String)
    case timeout
    /// A stop of the daemon, or a reboot, has ended it.
    case interrupted
}

// How the event `run.ended` carries it.
extension RunEnd {
    /// What the event carries, an object with one key.
    package var data: JSONValue {
        switch self {
        case .exit(let code): ["exit": .integer(code)]
        case .signal(let name): ["signal": .string(name)]
        case .timeout: ["timeout": true]
        case .interrupted: ["interrupted": true]
        }
    }

    /// Reads what the event carries; null counts as absent.
    ///
    /// - Throws: `bad-data`.
    package init(_ data: [JSONMember]) throws(WireError) {
        let known = StateSchema.endOfRun.fields.map(\.name)
        let given = data.filter { $0.value != .null }
        if let odd = given.first(where: { member in !known.contains { member.key.isSpelled($0) } })
        {
            throw .noField(odd.key, owner: StateSchema.endOfRun.name, known: known)
        }
        guard let member = given.first, given.count == 1 else {
            throw .badData(
                "\(StateSchema.endOfRun.name) needs one of \(known.joined(separator: ", "))",
                known: known.map { .string($0) }
            )
        }
        switch (member.key, member.value) {
        case ("exit", let value):
            guard let code = value.integer, (0...255).contains(code) else {
                throw .badData("exit=\(value): an exit code must be a number from 0 to 255")
            }
            self = .exit(Int(code))
        case ("signal", let value):
            guard let name = value.string, Self.isSignal(name) else {
                throw .badData("signal=\(value): write the name of the signal, like SIGKILL")
            }
            self = .signal(name)
        case (let key, .bool(true)): self = key.isSpelled("timeout") ? .timeout : .interrupted
        case (let key, let value):
            throw .badData("\(key)=\(value): write true, or leave it out", known: [.bool(true)])
        }
    }

    /// Whether a text looks like a signal's name: `SIGTERM`, `SIGRTMIN+3`.
    static func isSignal(_ name: String) -> Bool {
        name.hasPrefix("SIG") && (4...16).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                $0.isDigit || ($0.isLetter && $0 & 0x20 == 0) || "+-".utf8.contains($0)
            }
    }
}

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

    /// Notes an end of the run, and returns what follows.
    package mutating func ended(_ end: RunEnd, of run: DeclaredCase.Run) -> Step {
        if case .exit(let code) = end, run.exits[code] != nil { return .over(end) }
        if end == .interrupted, run.interrupted?.target != nil { return .over(end) }
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

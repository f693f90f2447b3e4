import ArgumentParser
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// The conditions on the machine for a change to be made.
struct Conditions: ParsableArguments {
    @Option(help: .value("n", "Only if the machine is at this number."))
    var ifSeq: UInt64?

    @Option(
        help: .value("pattern", "Only if the current state matches; if given again, one of them.")
    )
    var ifState: [Pattern] = []

    @Option(
        help: .value(
            "pattern",
            "Only if the current state does not match; if given again, none of them."
        )
    )
    var unlessState: [Pattern] = []

    @Option(help: .value("n", "Only in the stay that began with this number."))
    var ifStay: UInt64?

    /// What the current state has to match.
    var patterns: [Pattern] {
        self.ifState + self.unlessState.map(!)
    }

    func validate() throws {
        try OptionLimits.checkNumber("--if-seq", self.ifSeq)
        try OptionLimits.checkNumber("--if-stay", self.ifStay)
        try OptionLimits.checkExceptions("--unless-state", self.unlessState, instead: "--if-state")
    }
}

/// Checks for what the daemon would refuse, to say so in the words of the command line.
enum OptionLimits {
    /// Checks the length of a text for people, as the protocol limits it.
    static func checkText(_ option: String, _ text: String?) throws {
        guard let text, text.utf8.count > RequestLimits.causeBytes else { return }
        throw ValidationError(
            "\(option) has \(text.utf8.count) bytes; it may have \(RequestLimits.causeBytes)"
        )
    }

    /// Checks the name of a required guard or a hold.
    static func checkName(_ option: String, _ name: String?) throws {
        guard let name, !RequestLimits.isRequirementName(name) else { return }
        throw ValidationError(
            "\(option) is a name of letters, digits and \"-_.:@\", at most "
                + "\(RequestLimits.requirementNameBytes) of them, not \"\(name.printable)\""
        )
    }

    /// Checks how long a vote or a delay may take.
    static func checkVote(_ option: String, _ time: Seconds?) throws {
        let longest = Duration.milliseconds(RequestLimits.voteMs)
        guard let time, time.duration > longest else { return }
        throw ValidationError("\(option) is at most \(RequestLimits.voteMs / 1000)s")
    }

    /// Checks how often there may be signs of life.
    static func checkBeat(_ option: String, _ time: Seconds?) throws {
        guard let time, time.duration < .milliseconds(RequestLimits.leastBeatMs) else { return }
        throw ValidationError("\(option) is at least \(RequestLimits.leastBeatMs)ms")
    }

    /// Checks patterns of what must not be, which say so once.
    static func checkExceptions(
        _ option: String,
        _ patterns: [Pattern],
        instead other: String
    ) throws {
        guard let pattern = patterns.first(where: \.isException) else { return }
        throw ValidationError("\(option) takes no \"!\"; write \(other) \((!pattern).text)")
    }

    /// Checks the number of a change or of a stay.
    static func checkNumber(_ option: String, _ number: UInt64?) throws {
        guard let number, number >= RequestLimits.integerBound else { return }
        throw ValidationError("\(option) is a number below 2^53, not \(number)")
    }
}

/// A span of time as it is typed: as in a machine's file (`200ms`, `30s`, `2min`, `1h30min`, `2d`), or plain seconds.
struct Seconds: ExpressibleByArgument {
    /// 10,000 d: 27 years.
    private static let range: ClosedRange<Int64> = 0...864_000_000_000

    let duration: Duration

    init?(argument: String) {
        do {
            self.duration = try Self.duration(argument)
        } catch {
            // The parser says that there is something; `WordCheck` asks what.
            return nil
        }
    }

    /// The time that a text states.
    static func duration(_ text: String) throws(TimeText.Objection) -> Duration {
        guard let seconds = Double(text), seconds >= 0,
            seconds * 1000 <= Double(self.range.upperBound)
        else { return try TimeText.duration(text, in: self.range) }
        return .microseconds(Int64((seconds * 1_000_000).rounded()))
    }
}

import ArgumentParser
import StateMachineClient
import StateMachineCore

/// What the daemon would refuse in the protocol's words, said in those of the command line.
enum OptionLimits {
    /// A text for people, as long as the protocol has them.
    static func checkText(_ option: String, _ text: String?) throws {
        guard let text, text.utf8.count > RequestLimits.causeBytes else { return }
        throw ValidationError(
            "\(option) has \(text.utf8.count) bytes; it may have \(RequestLimits.causeBytes)"
        )
    }

    /// What a required guard is known by.
    static func checkRequirement(_ name: String?) throws {
        guard let name, !RequestLimits.isRequirementName(name) else { return }
        throw ValidationError(
            "--required is a name of letters, digits and \"-_.:@\", at most "
                + "\(RequestLimits.requirementNameBytes) of them, not \"\(name.printable)\""
        )
    }

    /// How long somebody may have a say.
    static func checkVote(_ option: String, _ time: Seconds?) throws {
        let longest = Duration.milliseconds(RequestLimits.voteMs)
        guard let time, time.duration > longest else { return }
        throw ValidationError("\(option) is at most \(RequestLimits.voteMs / 1000)s")
    }

    /// How often there may be signs of life.
    static func checkBeat(_ option: String, _ time: Seconds?) throws {
        guard let time, time.duration < .milliseconds(RequestLimits.leastBeatMs) else { return }
        throw ValidationError("\(option) is at least \(RequestLimits.leastBeatMs)ms")
    }

    /// The number of a change or of a stay.
    static func checkNumber(_ option: String, _ number: UInt64?) throws {
        guard let number, number >= RequestLimits.integerBound else { return }
        throw ValidationError("\(option) is a number below 2^53, not \(number)")
    }
}

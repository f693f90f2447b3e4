import ArgumentParser
import StateMachineClient
import StateMachineCore

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

    /// Checks the number of a change or of a stay.
    static func checkNumber(_ option: String, _ number: UInt64?) throws {
        guard let number, number >= RequestLimits.integerBound else { return }
        throw ValidationError("\(option) is a number below 2^53, not \(number)")
    }
}

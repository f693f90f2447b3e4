import Glibc

/// A command with all its settings.
package struct DeclaredCommand: Hashable, Sendable {
    /// The program and its words.
    package let words: [CommandWord]
    package let user: String?
    package let group: String?
    /// How long it may take; nil for any time.
    package let timeout: Duration?
    /// From SIGTERM to SIGKILL.
    package let stop: Duration
    /// How it is retried; nil if it is not.
    package let retry: Retry?
    package let directory: String
    /// Variables, in the order of the file.
    package let environment: [Variable]
    /// With `-` before it, it may be missing.
    package let environmentFile: String?
    /// Properties of the unit that it is run as, in the order of the file; without systemd they have no effect.
    package let properties: [UnitProperty]

    /// A variable of the environment.
    package struct Variable: Hashable, Sendable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The words with the values of a state's fields in them.
    package func words(in state: DeclaredState) -> [String] {
        self.words.map { $0.text(in: state) }
    }

    /// The words as they were written, for people.
    package var written: String { self.words.map(\.written).joined(separator: " ") }
}

/// How a command that ended badly is tried again.
package struct Retry: Hashable, Sendable {
    /// The most retries, if their number is limited.
    ///
    /// 10,000: a week of tries a minute apart; all of them are added up when the file is checked.
    static let most = 10_000

    /// The number of retries; nil for ever.
    package let times: Int?
    /// The pause before the first retry.
    package let wait: Duration
    /// The factor from each pause to the next.
    package let factor: Double
    /// The longest pause.
    package let longest: Duration

    /// The pause before the retry of that number, from 1; nil if there is none.
    package func wait(before number: Int) -> Duration? {
        guard number <= self.times ?? .max else { return nil }
        let wait = Double(self.wait.wholeMilliseconds) * pow(self.factor, Double(number - 1))
        let longest = Double(self.longest.wholeMilliseconds)
        return .milliseconds(Int64(min(wait, longest).rounded()))
    }

    /// All pauses together; nil if it is tried for ever.
    package var total: Duration? {
        guard let times = self.times else { return nil }
        var total = Duration.zero
        for number in 1...times {
            guard let wait = self.wait(before: number) else { break }
            // From here on all waits are the same.
            if self.factor == 1 || wait >= self.longest {
                return total + wait * (times - number + 1)
            }
            total += wait
        }
        return total
    }
}

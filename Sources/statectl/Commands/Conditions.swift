import ArgumentParser
import StateMachineClient

/// The conditions on the machine for a change to be made.
struct Conditions: ParsableArguments {
    @Option(help: ArgumentHelp("Only if the machine is at this number.", valueName: "n"))
    var ifSeq: UInt64?

    @Option(
        help: ArgumentHelp(
            "Only if the current state matches; if given again, one of them.",
            valueName: "pattern"
        ),
        completion: .patterns
    )
    var ifState: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only if the current state does not match; if given again, none of them.",
            valueName: "pattern"
        ),
        completion: .patterns
    )
    var unlessState: [String] = []

    @Option(
        help: ArgumentHelp("Only in the stay that began with this number.", valueName: "n")
    )
    var ifStay: UInt64?

    /// What the current state has to match.
    var patterns: [Pattern] {
        self.ifState.map { Pattern(typed: $0) } + self.unlessState.map { !Pattern(typed: $0) }
    }

    func validate() throws {
        try OptionLimits.checkNumber("--if-seq", self.ifSeq)
        try OptionLimits.checkNumber("--if-stay", self.ifStay)
        guard let pattern = self.unlessState.first(where: { $0.hasPrefix("!") }) else { return }
        throw ValidationError(
            "--unless-state takes no \"!\"; write --if-state \(pattern.dropFirst())"
        )
    }
}

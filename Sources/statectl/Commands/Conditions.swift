import ArgumentParser
import StateMachineClient

/// Where the machine has to be for a change to be made.
struct Conditions: ParsableArguments {
    @Option(help: ArgumentHelp("Only if the machine is at this number.", valueName: "n"))
    var ifSeq: UInt64?

    @Option(
        help: ArgumentHelp("Only if the current state matches.", valueName: "pattern"),
        completion: .patterns
    )
    var ifState: String?

    @Option(
        help: ArgumentHelp("Only in the stay that began with this number.", valueName: "n")
    )
    var ifStay: UInt64?

    var pattern: Pattern? { self.ifState.map { Pattern(typed: $0) } }
}

import ArgumentParser
import StateMachineRunner

@main
struct Runner: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statemachine-runner",
        abstract: "Runs the commands of a machine that a file declares."
    )
}

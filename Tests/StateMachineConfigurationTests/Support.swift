import ArgumentParser

@testable import StateMachineEmbedding
@testable import statemachine

/// Settings as a command line, an environment and the text of a file make them.
func settings(
    _ arguments: [String] = [],
    environment: [String: String] = [:],
    file: String? = nil
) throws -> Settings {
    let command = try StateMachineCommand.parse(arguments)
    return try Settings(
        for: StateMachineCommand.front,
        flags: command.flags,
        own: command.own,
        environment: environment,
        file: file.map {
            try ConfigurationFile($0, path: "config.yaml", for: StateMachineCommand.front)
        }
    )
}

/// The sentences that these are refused with; none if they are taken.
func problems(
    _ arguments: [String] = [],
    environment: [String: String] = [:],
    file: String? = nil
) throws -> [String] {
    do {
        _ = try settings(arguments, environment: environment, file: file)
        return []
    } catch let error as ConfigurationError {
        return error.problems
    }
}

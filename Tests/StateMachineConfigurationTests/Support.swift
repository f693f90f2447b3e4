import ArgumentParser

@testable import StateMachineEmbedding
@testable import statemachine

/// Settings from a command line, an environment and the text of a file.
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

/// The messages with which these are refused; none if they are accepted.
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

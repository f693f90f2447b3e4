import ArgumentParser
import StateMachineCore
import StateMachineDeclaration

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a file that declares a machine.",
        discussion: """
            Prints every error and warning with its line, and of a good file when each command that \
            fails is tried again. With --strict it also warns of a word that begins with a field, where the \
            program might take what was sent for an option. Exit codes: 0 good, 78 not.

            Examples:

              statectl check lamp.yaml
              statectl check --strict lamp.yaml
            """
    )

    @Argument(help: "The file.", completion: .file(extensions: ["yaml"]))
    var file: String

    @Flag(help: "Take warnings for errors.")
    var strict = false

    func run() throws {
        let reading = try DeclaredMachine.file(self.file).checked(isStrict: self.strict)
        for problem in reading.problems { StandardError.write(problem.line(in: self.file)) }
        guard let declaration = reading.declaration, !reading.isRefused(strict: self.strict) else {
            throw ExitStatus.configuration
        }
        for line in RetryText.lines(of: declaration) {
            try StandardOutput.offer(line.printable)
        }
    }
}

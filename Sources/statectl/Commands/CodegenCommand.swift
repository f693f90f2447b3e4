import ArgumentParser
import StateMachineClient

struct CodegenCommand: DaemonCommand {
    /// In which language the types are written.
    enum Language: String, CaseIterable, ExpressibleByArgument {
        case python
        case typescript
    }

    static let configuration = CommandConfiguration(
        commandName: "codegen",
        abstract: "Write states and events as Python or TypeScript.",
        discussion: """
            A Python dataclass or a TypeScript interface for each state and each event, named after it, such as \
            PlayingState and PlayEvent, of the daemon's machine or of a file. They use only the language's standard \
            library, and are the same each time. Exit codes: 0 written, 78 the file has errors.

            Examples:

              statectl codegen python >lamp.py
              statectl codegen typescript lamp.yaml >lamp.ts
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The language.")
    var language: Language

    @Argument(
        help: "The file that declares the machine; without it the daemon's machine is asked.",
        completion: .file(extensions: ["yaml"])
    )
    var file: String?

    func validate() throws {
        guard !self.options.json else {
            throw ValidationError(
                "codegen writes code; the lines themselves: statectl --json describe"
            )
        }
    }

    func run() async throws {
        let types = try await self.types()
        switch self.language {
        case .python: try StandardOutput.offer(PythonText.text(types))
        case .typescript: try StandardOutput.offer(TypeScriptText.text(types))
        }
    }

    private func types() async throws -> MachineTypes {
        if let file = self.file { return MachineTypes(try DeclaredMachine.declaration(file)) }
        let description = try await self.options.client.accepted(.describe)
        return MachineTypes(description: description.value)
    }
}

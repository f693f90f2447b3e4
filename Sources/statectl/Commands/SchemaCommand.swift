import ArgumentParser
import StateMachineDeclaration

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of machines' files, for editors.",
        discussion: """
            Examples:

              statectl schema >machine.schema.json
              statectl schema | head -n 3
            """
    )

    func run() throws { try StandardOutput.offer(DeclarationSchema.text) }
}

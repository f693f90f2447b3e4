import ArgumentParser
import StateMachineDeclaration

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of machines' files, for editors."
    )

    func run() throws { try StandardOutput.offer(DeclarationSchema.text) }
}

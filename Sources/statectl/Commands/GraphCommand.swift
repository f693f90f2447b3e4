import ArgumentParser
import StateMachineDeclaration

struct GraphCommand: AsyncParsableCommand {
    /// How the machine is drawn.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case text
        case mermaid
        case dot
        case svg
    }

    static let configuration = CommandConfiguration(
        commandName: "graph",
        abstract: "Draw a declared machine.",
        discussion: """
            As text, for Mermaid (which many pages show as a picture), for Graphviz, or as a picture \
            by Graphviz. Exit codes: 0 drawn, 1 not, 78 the file has errors.
            """
    )

    @Argument(help: "The file that declares the machine.", completion: .file(extensions: ["yaml"]))
    var file: String

    @Option(help: "How it is drawn.")
    var format = Format.text

    func run() async throws {
        let drawing = Drawing(try DeclaredMachine.declaration(self.file))
        let text =
            switch self.format {
            case .text: drawing.text(as: .text)
            case .mermaid: drawing.text(as: .mermaid)
            case .dot: drawing.text(as: .dot)
            case .svg: try await Graphviz.picture(of: drawing.text(as: .dot))
            }
        try StandardOutput.offer(text)
    }
}

import ArgumentParser
import StateMachineClient
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
        abstract:
            "Draw the daemon's machine, with the present state marked, or one that a file declares.",
        discussion: """
            As text, for Mermaid (which many pages show as a picture), for Graphviz, or as a picture \
            by Graphviz (svg, for which dot of the package graphviz is run). Exit codes: 0 drawn, 1 not, \
            78 the file has errors.
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: "The file that declares the machine; without it the daemon's machine is drawn.",
        completion: .file(extensions: ["yaml"])
    )
    var file: String?

    @Option(help: "How it is drawn.")
    var format = Format.text

    func validate() throws {
        guard !self.options.json else {
            throw ValidationError("graph draws; the lines themselves: statectl --json describe")
        }
    }

    func run() async throws {
        let drawing = try await self.drawing()
        let text =
            switch self.format {
            case .text: drawing.text(as: .text)
            case .mermaid: drawing.text(as: .mermaid)
            case .dot: drawing.text(as: .dot)
            case .svg: try await Graphviz.picture(of: drawing.text(as: .dot))
            }
        try StandardOutput.offer(text)
    }

    private func drawing() async throws -> Drawing {
        if let file = self.file { return Drawing(try DeclaredMachine.declaration(file)) }
        let client = try self.options.client
        let description = try await client.reply(to: .describe)
        guard description.isOK == true else { try self.options.refuse(description) }
        let present = try await client.reply(to: .get)
        guard present.isOK == true else { try self.options.refuse(present) }
        guard let drawing = Drawing(description: description.value, present: present.state?.name)
        else {
            StandardError.write("statectl: the daemon tells nothing of its states")
            throw ExitStatus.no
        }
        return drawing
    }
}

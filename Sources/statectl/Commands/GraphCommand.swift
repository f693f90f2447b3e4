import ArgumentParser
import StateMachineClient
import StateMachineDeclaration

struct GraphCommand: DaemonCommand {
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
            "Draw a machine: the daemon's, or a file's.",
        discussion: """
            The daemon's with the present state marked. As text, for Mermaid (which many pages show as a picture), for Graphviz, or as a picture \
            by Graphviz (svg, for which dot of the package graphviz is run). Text is a drawing where a machine has at \
            most twelve states and the terminal has room, else a list; ● is the present state, ◷ what time does, ↺ what \
            leads back. Of a daemon's machine it is told which states are held or guarded.

            With --counts each arrow says how often that way was taken, of the changes that are kept, and the median of the \
            stays that ended so; a way that was never taken is dashed. A state that a file has renamed since then has its \
            old changes under its old name, and they are not counted. Exit codes: 0 drawn, 1 not, 78 the file has errors.
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

    @Flag(help: "Say how often each way was taken, and how long the stay before it was.")
    var counts = false

    @Option(
        help: ArgumentHelp(
            "With --counts only the changes from then on, as of history.",
            valueName: "when"
        )
    )
    var since: String?

    func validate() throws {
        guard self.file == nil || !self.counts else {
            throw ValidationError("--counts is about a daemon's past; leave the file out")
        }
        guard self.since == nil || self.counts else {
            throw ValidationError("--since goes with --counts")
        }
        _ = try TypedPlace.place("--since", self.since, isUTC: self.options.utc)
        guard !self.options.json else {
            throw ValidationError("graph draws; the lines themselves: statectl --json describe")
        }
    }

    func run() async throws {
        let drawing = try await self.drawing()
        let text =
            switch self.format {
            case .text:
                DiagramText(style: self.options.text.style, width: StandardOutput.columns)
                    .text(drawing)
            case .mermaid: drawing.text(as: .mermaid)
            case .dot: drawing.text(as: .dot)
            case .svg: try await Graphviz.picture(of: drawing.text(as: .dot))
            }
        try StandardOutput.offer(text)
    }

    private func drawing() async throws -> Drawing {
        if let file = self.file { return Drawing(try DeclaredMachine.declaration(file)) }
        let client = try self.options.client
        let description = try await client.accepted(.describe)
        let present = try await client.accepted(.get)
        guard var drawing = Drawing(description: description.value, present: present.state?.name)
        else {
            StandardError.write("statectl: the daemon describes no states")
            throw ExitStatus.no
        }
        let stats = try await client.accepted(.stats)
        drawing.note(DrawingBar.bars(stats.value, description.value))
        if self.counts {
            let place = try TypedPlace.place("--since", self.since, isUTC: self.options.utc)
            let reading = PastReading(client: client, since: place)
            drawing.note(try await reading.span().ways())
        }
        return drawing
    }
}

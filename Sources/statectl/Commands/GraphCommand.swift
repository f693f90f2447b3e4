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
            As text, for Mermaid (which many sites show as a picture), for Graphviz (dot), or as an SVG picture, \
            which needs the package graphviz. Text is a drawing if the machine has at most twelve states and the \
            terminal has room, else a list; ● is the present state, ◷ a deadline, ↺ a way back. The daemon's machine \
            is drawn with its holds and guards.

            With --counts each arrow shows how often that way was taken, as far back as changes are kept, and how \
            long the stays before it lasted (the median); a way that was never taken is dashed. Changes under an old \
            name of a renamed state are not counted. Exit codes: 0 drawn, 1 not drawn, 78 the file has errors.

            Examples:

              statectl graph lamp.yaml
              statectl graph --format mermaid --counts
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

    @Option(help: .value("when", "With --counts only the changes from then on, as of history."))
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

import ArgumentParser
import Glibc
import Processes
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import SystemPackage

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
        abstract: "Draw a machine: the daemon's, or a file's.",
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
            throw ValidationError("--counts needs a daemon's past; leave the file out")
        }
        try demand(self.since == nil || self.counts, "--since needs --counts")
        _ = try self.options.position("--since", self.since)
        try demand(!self.options.json, "graph has no --json; use statectl --json describe")
    }

    func run() async throws {
        let drawing = try await self.drawing()
        let text =
            switch self.format {
            case .text: self.text(drawing)
            case .mermaid: drawing.mermaid
            case .dot: drawing.dot
            case .svg: try await Graphviz.picture(of: drawing.dot)
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
            throw Refusal("the daemon's states are unknown; give the machine's file")
        }
        let stats = try await client.accepted(.stats)
        drawing.note(DrawingBar.bars(stats.value, description.value))
        if self.counts {
            let since = try self.options.position("--since", self.since)
            drawing.note(try await PastReading(client: client, since: since).span().ways())
        }
        return drawing
    }
}

/// Has Graphviz make a picture of a graph.
enum Graphviz {
    /// The most bytes of a picture.
    ///
    /// 16 MiB: a hundred times what the largest machine takes.
    private static let pictureBytes = 16 << 20

    /// How long it may take.
    ///
    /// 30 s: longer than anybody looks at a terminal in which nothing comes. Not tuned.
    private static let limit = Duration.seconds(30)
    /// What it has to end in, once it is told to.
    ///
    /// 1 s: it has nothing to lose. Not tuned.
    private static let grace = Duration.seconds(1)

    private static let noProgram = Refusal(
        "cannot run dot; install the package graphviz, or take another --format"
    )
    private static let cannotDraw = Refusal(
        "dot could not draw the machine; take another --format"
    )

    /// The picture as SVG.
    ///
    /// - Throws: ``Refusal``, or `CancellationError`.
    static func picture(
        of graph: String,
        by program: [String] = ["dot", "-Tsvg"],
        within limit: Duration = limit
    ) async throws -> String {
        let (picture, errors) = (ProgramStart.memoryFile(), ProgramStart.memoryFile())
        defer { for file in [picture, errors] { close(file) } }
        guard picture >= 0, errors >= 0, let dot = ChildCommand(program) else {
            throw Self.noProgram
        }
        let run: Race.Entry<ChildCommand.Ending> = {
            await dot.run(input: graph, output: picture, errors: errors, grace: Self.grace)
        }
        let ending = try await Race.run([run], within: limit) {
            throw Refusal(
                "dot has not drawn the machine within \(limit / .seconds(1)) s, and was ended; take another --format"
            )
        }
        switch ending {
        case .exited(0): break
        case .notFound, .notStarted: throw Self.noProgram
        case .exited, .signalled, .left: throw Self.cannotDraw
        }
        let file = FileDescriptor(rawValue: picture)
        try file.seek(offset: 0, from: .start)
        let bytes = try file.bytes(atMost: Self.pictureBytes + 1)
        guard bytes.count <= Self.pictureBytes, let text = String(validating: bytes, as: UTF8.self)
        else { throw Self.cannotDraw }
        return text
    }
}

extension GraphCommand {
    /// The machine as text for people: a drawing if there is room, else a list.
    private func text(_ drawing: Drawing) -> String {
        guard let diagram = Diagram(drawing, width: StandardOutput.columns) else {
            return drawing.plainText
        }
        let style = self.options.text.style
        return diagram.rows.map { $0.text(style) }.joined(separator: "\n")
    }
}

extension String {
    /// The text for use between tags and in attributes of XML, at most that many characters of it,
    /// with unprintable characters escaped.
    func markup(atMost count: Int = 400) -> String {
        // A character may have any number of marks on it; counting scalars bounds the bytes too.
        var text = ""
        for scalar in self.unicodeScalars.prefix(count) {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            case "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
            default:
                if scalar.isUnprintable {
                    text += "\\u{\(String(scalar.value, radix: 16))}"
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        return self.unicodeScalars.count > count ? text + "…" : text
    }
}

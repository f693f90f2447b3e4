import ArgumentParser
import StateMachineClient
import StateMachineCore
import SystemPackage

struct TimelineCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Draw which states there were, and for how long.",
        usage: "statectl timeline [--since WHEN] [--until WHEN] [--svg FILE]",
        discussion: """
            A band for each state: the higher a block, the more of its column's time was spent in the state. Below \
            are the clock and, for each state, its share of the time, how often it was entered, and the median and \
            longest of its stays that have ended; a stay that began before the span counts with its whole length. An \
            update of fields does not begin a stay.

            With --svg it is a picture; point at a band to see who set the state and why. FILE may be - for standard \
            output. WHEN is as for history. With --json one object: from, until, changes, and in states for each \
            state, ms, share, entered, medianMs and longestMs.

            Examples:

              statectl timeline --since 1h
              statectl timeline --svg day.svg
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var machines: SeveralMachines

    @Option(help: .value("when", "Begin then (default: with the oldest change that is kept)."))
    var since: String?

    @Option(help: .value("when", "End then (default: now)."))
    var until: String?

    @Option(help: .value("file", "Write a picture there."), completion: .file(extensions: ["svg"]))
    var svg: String?

    func validate() throws {
        guard self.svg == nil || !self.options.json else {
            throw ValidationError("--svg and --json exclude each other; give one")
        }
        guard self.svg != "" else { throw ValidationError("--svg is empty; name the file") }
        let since = try self.place("--since", self.since)
        let until = try self.place("--until", self.until)
        guard case .time(let start)? = since else { return }
        guard start < .now else {
            throw ValidationError("--since is still to come; write \(TypedPlace.example)")
        }
        if case .time(let end)? = until, end <= start {
            throw ValidationError("--until is not after --since; there is no time between")
        }
    }

    func run() async throws {
        let one = [(self.svg != nil, "--svg")]
        try await self.machines.targets(self.options, one: one).each { target in
            let reading = PastReading(
                client: try await target.client,
                since: try self.place("--since", self.since),
                until: try self.place("--until", self.until)
            )
            let span = try await reading.span()
            if let file = self.svg { return try await self.draw(span, reading, to: file) }
            try target.print(span.object) { text in
                TimelineText(text: text, isUTC: self.options.utc).text(span)
                    + (target.mark == nil ? "" : "\n")
            }
        }
    }

    private func draw(_ span: PastSpan, _ reading: PastReading, to file: String) async throws {
        let marks = PictureMarks(span, columns: TimelinePicture.columns)
        let description = try await reading.client.accepted(.describe)
        let picture = TimelinePicture(
            text: self.options.text,
            isUTC: self.options.utc,
            title: description["machine"]?.string,
            changes: try await reading.changes(marks.stays.map { span.stays.seq(of: $0) })
        )
        let text = picture.text(span, marks)
        guard file != "-" else { return try StandardOutput.offer(text) }
        do {
            let descriptor = try FileDescriptor.open(
                FilePath(file),
                .writeOnly,
                options: [.create, .truncate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            _ = try descriptor.closeAfter { try descriptor.writeAll((text + "\n").utf8) }
        } catch {
            StandardError.write("statectl: cannot write \(file.printable): \(error)")
            throw ExitStatus.no
        }
    }

    private func place(_ option: String, _ text: String?) throws -> HistoryPlace? {
        try TypedPlace.place(option, text, isUTC: self.options.utc)
    }
}

extension PastSpan {
    /// The span as JSON, for the commands that show it.
    fileprivate var object: JSONValue {
        func ms(_ microseconds: Int64) -> JSONValue { .integer(microseconds / 1000) }
        return .object([
            JSONMember("from", .string(WallTime(microseconds: self.start).rfc3339)),
            JSONMember("until", .string(WallTime(microseconds: self.end).rfc3339)),
            JSONMember("changes", .integer(self.stays.changes)),
            JSONMember(
                "states",
                .array(
                    self.summaries().map { row in
                        .object([
                            JSONMember("state", .string(row.name)),
                            JSONMember("ms", ms(row.time)),
                            JSONMember(
                                "share",
                                .number("\((row.share * 10_000).rounded() / 10_000)")
                            ),
                            JSONMember("entered", .integer(row.entered)),
                            JSONMember("medianMs", row.median.map(ms) ?? .null),
                            JSONMember("longestMs", ms(row.longest)),
                        ])
                    }
                )
            ),
        ])
    }
}

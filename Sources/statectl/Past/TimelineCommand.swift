import ArgumentParser
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
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
            throw ValidationError("--svg and --json cannot be used together; give one")
        }
        try demand(self.svg != "", "--svg is empty; name the file")
        let since = try self.options.position("--since", self.since)
        let until = try self.options.position("--until", self.until)
        guard case .time(let start)? = since else { return }
        try demand(start < .now, "--since is in the future; write \(TypedPosition.example)")
        if case .time(let end)? = until, end <= start {
            throw ValidationError("--until must be later than --since")
        }
    }

    func run() async throws {
        let one = [(self.svg != nil, "--svg")]
        try await self.machines.targets(self.options, one: one).each { target in
            let reading = PastReading(
                client: try await target.client,
                since: try self.options.position("--since", self.since),
                until: try self.options.position("--until", self.until)
            )
            let span = try await reading.span()
            if let file = self.svg { return try await self.draw(span, reading, to: file) }
            try target.print(span.object.description) { text in
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
            changes: try await reading.changes(marks.stays.map { span.stays.all[$0].seq })
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
            throw Refusal("cannot write \(file.printable): \(error)")
        }
    }
}

extension PastSpan {
    /// The span as JSON, for the commands that show it.
    fileprivate var object: JSONValue {
        func ms(_ microseconds: Int64) -> JSONValue { .integer(microseconds / 1000) }
        let states = self.summaries().map { row -> JSONValue in
            [
                "state": .string(row.name),
                "ms": ms(row.time),
                "share": .number("\((row.share * 10_000).rounded() / 10_000)"),
                "entered": .integer(row.entered),
                "medianMs": row.median.map(ms) ?? .null,
                "longestMs": ms(row.longest),
            ]
        }
        return [
            "from": .string(WallTime(microseconds: self.start).rfc3339),
            "until": .string(WallTime(microseconds: self.end).rfc3339),
            "changes": .integer(self.stays.changes),
            "states": .array(states),
        ]
    }
}

/// Asks a daemon for the stays of a span of the past.
struct PastReading {
    let client: Client
    /// Where the span begins; nil for the oldest change that is kept.
    var since: HistoryPosition?
    /// Where it ends; nil for now.
    var until: HistoryPosition?

    /// Reads the span.
    ///
    /// - Throws: a refusal, or ``ClientError``.
    func span() async throws -> PastSpan {
        let present = try await self.client.accepted(.get)
        var stays = PastStays()
        let start = try await self.start()
        let end: Int64? = if let until { try await self.moment(of: until) } else { nil }
        if let earlier = start.earlier, let state = earlier.state?.name {
            let began = try await self.beginning(of: earlier)
            stays.enter(state, at: began.at, seq: began.seq)
        }
        var hasEarlier = !stays.all.isEmpty
        let oldest =
            hasEarlier
            ? nil
            : try await self.client.change(
                .history(limit: 1, after: self.since, before: self.until)
            )
        if oldest?.seq == 1, let state = oldest?.from?.name, let began = try await self.began() {
            // What the machine was in to begin with is nobody's change.
            stays.enter(state, at: began.microseconds, seq: 0)
            hasEarlier = start.at.map { began.microseconds < $0 } ?? false
        }
        let isWhole = !stays.all.isEmpty
        try await self.read(into: &stays, upTo: present.seq ?? 0)
        if stays.all.isEmpty, let state = present.state?.name, let at = present.at,
            at.microseconds < end ?? .max
        {
            // Nothing has changed yet.
            stays.enter(state, at: at.microseconds, seq: present.seq ?? 0)
        }
        // If a clock was set back, the last change may be in the future.
        let last = end ?? max(WallTime.now.microseconds, stays.all.last?.start ?? .min)
        let first = start.at ?? stays.all.first?.start ?? last
        return PastSpan(
            start: min(first, last),
            end: last,
            stays: stays,
            hasEarlier: hasEarlier,
            origin: isWhole ? nil : oldest.flatMap { $0.stay == nil ? $0.from : $0.state }?.name
        )
    }

    /// When the span begins, if `since` says so, and the last change before it.
    private func start() async throws -> (at: Int64?, earlier: Line?) {
        guard let since = self.since else { return (nil, nil) }
        if case .time(let time) = since {
            let earlier = try await self.client.change(
                .history(limit: 1, order: .newest, before: since)
            )
            return (time.microseconds, earlier)
        }
        // The span begins with that change itself.
        let change = try await self.change(at: since)
        return (change?.at?.microseconds, change)
    }

    /// When the stay began that a change led to, or continued.
    private func beginning(of change: Line) async throws -> (at: Int64, seq: UInt64) {
        let seq = change.seq ?? 0
        let own = (change.at?.microseconds ?? 0, seq)
        guard let stay = change.stay, stay < seq else { return own }
        let first = try await self.change(at: .seq(stay))
        return first?.at.map { ($0.microseconds, stay) } ?? own
    }

    private func read(into stays: inout PastStays, upTo newest: UInt64) async throws {
        let progress = Progress("reading the past")
        defer { progress.end() }
        var first: UInt64?
        var next: UInt64?
        var hasGap = false
        let reply = try await self.client.outline(after: self.since, before: self.until) {
            outline in
            first = first ?? outline.first
            if let next, outline.first > next { hasGap = true }
            next = outline.examined + 1
            stays.take(outline)
            guard !stays.isTooMany else {
                throw Refusal(
                    "the daemon's answer is not valid: it has more than \(PastStays.mostNames) states",
                    .unreachable
                )
            }
            let (last, begin) = (max(newest, outline.examined), first ?? 0)
            progress.show(stays.changes, of: last >= begin ? last - begin + 1 : nil)
        }
        if hasGap {
            progress.end()
            StandardError.say(
                "some changes are missing; the state before the gap is shown until the next known change"
            )
        }
        guard reply.isOK == true else {
            if reply.error == .badRequest, !reply.known.isEmpty, !reply.known.contains("outline") {
                throw Refusal(
                    "the daemon is older than this statectl and cannot send a timeline; restart the daemon"
                )
            }
            throw ClientError.refused(reply)
        }
    }

    // MARK: - Single changes

    /// The most unwanted changes read between wanted ones: less than another request costs.
    private static let between: UInt64 = 32

    /// The changes with those numbers, as far as they are kept.
    func changes(_ seqs: [UInt64]) async throws -> [UInt64: Line] {
        let wanted = Set(seqs)
        var ranges: [ClosedRange<UInt64>] = []
        for seq in seqs.sorted() {
            if let last = ranges.last, seq <= last.upperBound + Self.between,
                seq - last.lowerBound < RequestLimits.historyChanges
            {
                ranges[ranges.count - 1] = last.lowerBound...max(seq, last.upperBound)
            } else {
                ranges.append(seq...seq)
            }
        }
        let requests = ranges.map { range in
            Request.history(
                limit: RequestLimits.historyChanges,
                after: .seq(max(range.lowerBound, 1) - 1),
                before: .seq(range.upperBound + 1)
            )
        }
        var found: [UInt64: Line] = [:]
        let reply = try await self.client.changes(requests) { line in
            if let seq = line.seq, wanted.contains(seq) { found[seq] = line }
        }
        _ = try reply?.accepted()
        return found
    }

    /// The time of a position: when its change was made, or the time that it is.
    private func moment(of position: HistoryPosition) async throws -> Int64? {
        if case .time(let time) = position { return time.microseconds }
        return try await self.change(at: position)?.at?.microseconds
    }

    /// When the numbering began, if the daemon knows.
    private func began() async throws -> WallTime? {
        try await self.client.accepted(.stats)["began"]?.string.flatMap { WallTime(rfc3339: $0) }
    }

    /// The change at that position; nil if it is not kept.
    private func change(at position: HistoryPosition) async throws -> Line? {
        let seq: UInt64
        switch position {
        case .time: return nil
        case .seq(let number): seq = number
        case .cursor(let text): seq = Cursor(text)?.seq ?? 0
        }
        let found = try await self.client.change(
            .history(limit: 1, order: .newest, before: .seq(seq + 1))
        )
        return found?.seq == seq ? found : nil
    }
}

extension PastSpan {
    /// How often each way from one state to another was taken, and the median of the stays that ended that way.
    func ways() -> [DrawingWay: (count: Int, median: String?)] {
        let (all, names) = (self.stays.all, self.stays.names)
        var lengths: [DrawingWay: [Int64]] = [:]
        for stay in all.indices.dropLast() {
            let way = DrawingWay(from: names[all[stay].state], to: names[all[stay + 1].state])
            lengths[way, default: []].append(self.length(of: stay))
        }
        var ways = lengths.mapValues { lengths in
            (count: lengths.count, median: lengths.median.map { SpanText.text($0) })
        }
        // The first change ended a stay of unknown length.
        if let origin, let first = all.first {
            let way = DrawingWay(from: origin, to: names[first.state])
            ways[way] = ((ways[way]?.count ?? 0) + 1, ways[way]?.median)
        }
        return ways
    }
}

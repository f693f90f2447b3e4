import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// Asks a daemon for the stays of a span of the past.
struct PastReading {
    let client: Client
    /// Where the span begins; nil for the oldest change that is kept.
    var since: HistoryPlace?
    /// Where it ends; nil for now.
    var until: HistoryPlace?

    /// Reads the span.
    ///
    /// - Throws: a refusal, or ``ClientError``.
    func span() async throws -> PastSpan {
        let present = try await self.client.accepted(.get)
        var stays = PastStays()
        let start = try await self.start()
        let end = try await self.until.asyncMap { try await self.moment(of: $0) }
        if let earlier = start.earlier, let state = earlier.state?.name {
            let place = stays.place(of: state)
            let began = try await self.beginning(of: earlier)
            stays.enter(place, at: began.at, seq: began.seq)
        }
        var hasEarlier = !stays.isEmpty
        let oldest = hasEarlier ? nil : try await self.oldest()
        if oldest?.seq == 1, let state = oldest?.from?.name, let began = try await self.began() {
            // What the machine was in to begin with is nobody's change.
            let place = stays.place(of: state)
            stays.enter(place, at: began.microseconds, seq: 0)
            hasEarlier = start.at.map { began.microseconds < $0 } ?? false
        }
        let isWhole = !stays.isEmpty
        try await self.read(into: &stays, upTo: present.seq ?? 0)
        if stays.isEmpty, let state = present.state?.name, let at = present.at,
            at.microseconds < end ?? .max
        {
            // Nothing has changed yet.
            let place = stays.place(of: state)
            stays.enter(place, at: at.microseconds, seq: present.seq ?? 0)
        }
        // If a clock was set back, the last change may be in the future.
        let last = end ?? max(WallTime.now.microseconds, stays.starts.last ?? .min)
        let first = start.at ?? stays.starts.first ?? last
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
        switch since {
        case .time(let time):
            return (time.microseconds, try await self.newest(before: since))
        case .seq, .cursor:
            // The span begins with that change itself.
            let change = try await self.change(at: since)
            return (change?.at?.microseconds, change)
        }
    }

    /// When the stay began that a change led to, or continued.
    private func beginning(of change: Line) async throws -> (at: Int64, seq: UInt64) {
        let seq = change.seq ?? 0
        let own = (change.at?.microseconds ?? 0, seq)
        guard let stay = change.stay, stay < seq else { return own }
        let first = try await self.change(at: .seq(stay))
        return first.flatMap { line in line.at.map { ($0.microseconds, stay) } } ?? own
    }

    private func read(into stays: inout PastStays, upTo newest: UInt64) async throws {
        let progress = Progress("reading the past")
        defer { progress.end() }
        var first: UInt64?
        var next: UInt64?
        var hasGap = false
        let reply = try await self.client.outline(after: self.since, before: self.until) {
            outline in
            if first == nil {
                first = outline.first
                let count = max(newest, outline.first) - outline.first + 1
                stays.reserve(Int(min(count, Self.reserved)))
            }
            if let next, outline.first > next { hasGap = true }
            next = outline.examined + 1
            stays.take(outline)
            guard !stays.isTooMany else {
                throw Refusal(
                    sentence:
                        "the daemon names more than \(PastStays.mostNames) states, which no machine has",
                    status: .unreachable
                )
            }
            let (last, begin) = (max(newest, outline.examined), first ?? 0)
            progress.show(stays.changes, of: last >= begin ? last - begin + 1 : nil)
        }
        if hasGap {
            progress.end()
            StandardError.write(
                "statectl: some changes are missing; the state before them is shown until the next known change"
            )
        }
        guard reply.isOK == true else {
            if reply.error == .badRequest, !reply.known.isEmpty, !reply.known.contains("outline") {
                StandardError.write(
                    "statectl: the daemon is older than this statectl, and cannot send a timeline; restart it"
                )
                throw ExitStatus.no
            }
            throw ClientError.refused(reply)
        }
    }

    /// The most stays that there is room for before they come; a million are kept by default.
    private static let reserved: UInt64 = 4_000_000

    // MARK: - Single changes

    /// The most unwanted changes read between wanted ones: less than another request costs.
    private static let between: UInt64 = 32

    /// The changes with those numbers, which must ascend, as far as they are kept.
    func changes(_ seqs: [UInt64]) async throws -> [UInt64: Line] {
        let wanted = Set(seqs)
        var ranges: [ClosedRange<UInt64>] = []
        for seq in seqs {
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

    /// The time of a place: when its change was made, or the time that it is.
    private func moment(of place: HistoryPlace) async throws -> Int64? {
        if case .time(let time) = place { return time.microseconds }
        return try await self.change(at: place)?.at?.microseconds
    }

    private func oldest() async throws -> Line? {
        try await self.first(.history(limit: 1, after: self.since, before: self.until))
    }

    /// When the numbering began, if the daemon knows.
    private func began() async throws -> WallTime? {
        try await self.client.accepted(.stats)["began"]?.string.flatMap { WallTime(rfc3339: $0) }
    }

    private func newest(before place: HistoryPlace) async throws -> Line? {
        try await self.first(.history(limit: 1, order: .newest, before: place))
    }

    /// The change at that place; nil if it is not kept.
    private func change(at place: HistoryPlace) async throws -> Line? {
        switch place {
        case .time: nil
        case .seq(let seq):
            try await self.newest(before: .seq(seq + 1)).flatMap { $0.seq == seq ? $0 : nil }
        case .cursor(let text):
            try await self.change(at: .seq(Cursor(text)?.seq ?? 0))
        }
    }

    private func first(_ request: Request) async throws -> Line? {
        var found: Line?
        _ = try await self.client.changes(request) { found = $0 }.accepted()
        return found
    }
}

extension Optional {
    fileprivate func asyncMap<Mapped>(
        _ transform: (Wrapped) async throws -> Mapped?
    ) async rethrows -> Mapped? {
        guard let self else { return nil }
        return try await transform(self)
    }
}

extension PastSpan {
    /// How often each way from one state to another was taken, and the median of the stays that ended that way.
    func ways() -> [DrawingWay: (count: Int, median: String?)] {
        var lengths: [UInt32: [Int64]] = [:]
        for stay in self.stays.states.indices.dropLast() {
            let (from, to) = (self.stays.states[stay], self.stays.states[stay + 1])
            lengths[UInt32(from) << 16 | UInt32(to), default: []].append(self.length(of: stay))
        }
        var ways: [DrawingWay: (count: Int, median: String?)] = [:]
        for (way, lengths) in lengths {
            let names = (self.stays.names[Int(way >> 16)], self.stays.names[Int(way & 0xFFFF)])
            ways[DrawingWay(from: names.0, to: names.1)] = (
                lengths.count, SpanText.text(lengths.median ?? 0)
            )
        }
        // The first change ended a stay of unknown length.
        if let origin, let first = self.stays.states.first {
            let way = DrawingWay(from: origin, to: self.stays.names[Int(first)])
            ways[way] = ((ways[way]?.count ?? 0) + 1, ways[way]?.median)
        }
        return ways
    }
}

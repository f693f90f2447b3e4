#if Cluster
/// One watch of some keys, from a revision on: whole responses, in order, and none missing.
///
/// A value that decides and does nothing. There is one watch on a stream, so nothing of another's holds it up. After it has ended, whoever
/// needs more reads the keys at one revision and begins another behind that.
package struct EngineWatch: Sendable {
    package enum Event: Sendable {
        case came(WatchRequest.Answer)
        case malformed(Malformed)
        case ended(GRPCAnswer.End)
    }

    package enum News: Hashable, Sendable {
        /// The engine has it, and is at that revision; one that lags may say an older one than the watch's first.
        case began(revision: Int64)
        /// All that happened up to that revision, in order; behind it another watch may begin.
        case changed([WatchEvent], through: Int64)
        /// The engine is alive and at that revision. Do not begin another watch behind it: etcd has said so before what had happened until then
        /// had come.
        case alive(revision: Int64)
        case ended(Ending)
    }

    /// Why there is no more to come.
    package enum Ending: Hashable, Sendable {
        /// What it was to begin with is no longer there; that revision is the oldest one that is.
        case compacted(oldest: Int64)
        /// What came does not follow what was there: something is missing.
        case gap(String)
        case refused(Refusal)
        case lost(String)
    }

    private enum State {
        case beginning
        case following
        case ended
    }

    private let keys: KeyRange
    /// The last revision of which all has come.
    private var through: Int64
    /// A key that every change puts, so that each version of it has to come.
    private let counted: [UInt8]?
    /// The last one that has, once it is known.
    private var version: Int64?
    private var state = State.beginning
    /// The beginning of a response whose rest is to come.
    private var gathered: [WatchEvent] = []
    private var gatheredBytes = 0

    /// - Parameters:
    ///   - keys: what to watch.
    ///   - start: the first revision whose changes come.
    ///   - counted: one of the keys, never deleted, that is put with every change.
    ///   - version: the one that it had before, if that is known.
    package init(
        _ keys: KeyRange,
        from start: Int64,
        counting counted: String? = nil,
        after version: Int64? = nil
    ) {
        self.keys = keys
        self.through = start - 1
        self.counted = counted.map { Array($0.utf8) }
        self.version = version
    }

    package var request: WatchRequest { WatchRequest(self.keys, from: self.through + 1) }

    package mutating func thisHappened(_ event: Event) -> News? {
        switch (event, self.state) {
        case (_, .ended): return nil
        case (.came(let answer), _) where answer.isCancelled:
            return self.end(Self.ending(of: answer))
        case (.came(let answer), .beginning):
            guard answer.isCreated else {
                return self.end(.gap("it sends changes before it has begun"))
            }
            self.state = .following
            return .began(revision: answer.header.revision)
        case (.came(let answer), .following): return self.follow(answer)
        case (.malformed(let what), _):
            return self.end(.lost(Doubt.malformed(what.description).description))
        case (.ended(.status(0, _)), _): return self.end(.lost("the engine has ended the watch"))
        case (.ended(let end), _):
            switch Outcome<WatchRequest.Answer>(of: end) {
            case .refused(let refusal): return self.end(.refused(refusal))
            case .unknown(let doubt): return self.end(.lost(doubt.description))
            case .answered: return self.end(.lost("the engine has ended the watch"))
            }
        }
    }

    private mutating func end(_ ending: Ending) -> News {
        self.state = .ended
        self.gathered = []
        return .ended(ending)
    }

    private static func ending(of answer: WatchRequest.Answer) -> Ending {
        if answer.compactRevision > 0 { return .compacted(oldest: answer.compactRevision) }
        // "rpc error: code = PermissionDenied desc = etcdserver: permission denied", or the last part alone.
        let text = (answer.reason.split(separator: " desc = ").last.map { String($0) } ?? "")
            .excerpt
        if let refusal = Refusal(saying: text) { return .refused(refusal) }
        return .lost(
            "the engine has cancelled the watch: \(text.isEmpty ? "it does not say why" : text)"
        )
    }

    private mutating func follow(_ answer: WatchRequest.Answer) -> News? {
        guard !answer.events.isEmpty || answer.isFragment || !self.gathered.isEmpty else {
            return .alive(revision: answer.header.revision)
        }
        self.gathered += answer.events
        // Each takes some memory, however short it is.
        self.gatheredBytes += answer.events.reduce(0) {
            $0 + 100 + $1.entry.key.count + $1.entry.value.count
        }
        guard self.gatheredBytes <= GRPCFrames.longest else {
            return self.end(
                .lost(
                    "what happened at once has more than \(GRPCFrames.longest) bytes; read what is there now"
                )
            )
        }
        guard !answer.isFragment else { return nil }
        let events = self.gathered
        (self.gathered, self.gatheredBytes) = ([], 0)
        if let gap = self.gap(in: events) { return self.end(.gap(gap)) }
        self.through = events.last?.entry.modRevision ?? self.through
        return .changed(events, through: self.through)
    }

    /// What is wrong with them.
    ///
    /// Several changes of one revision come in one response, so the next one's revisions are all larger.
    private mutating func gap(in events: [WatchEvent]) -> String? {
        var last = self.through + 1
        for entry in events.lazy.map(\.entry) {
            guard self.keys.contains(entry.key) else { return "a key came that is not watched" }
            guard entry.modRevision >= last else {
                return "revision \(entry.modRevision) came, and \(last) was the least that could"
            }
            last = entry.modRevision
            guard entry.key == self.counted else { continue }
            if let version, entry.version != version + 1 {
                return "version \(entry.version) of a key came after \(version)"
            }
            self.version = entry.version
        }
        return nil
    }
}
#endif

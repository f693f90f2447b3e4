/// How far a reader of old changes is with the next few of them.
///
/// There is one request at a time, and what it brings is kept only until it is written: a reader whose
/// socket is full has its cursor and nothing else.
struct HistoryReading {
    enum Step {
        /// The changes have to be asked for.
        case ask
        /// They have been asked for.
        case wait
        /// They, or why there are none, are there.
        case take(HistoryChunk<HistoryLines>)
    }

    private enum State {
        case idle
        case asked
        case arrived(HistoryChunk<HistoryLines>)
    }

    private var state = State.idle

    /// Whether lines of its connection that come after its own have to wait.
    var isUnderWay: Bool {
        switch self.state {
        case .asked: true
        case .idle, .arrived: false
        }
    }

    /// The reader can go on.
    mutating func next() -> Step {
        switch self.state {
        case .idle:
            self.state = .asked
            return .ask
        case .asked: return .wait
        case .arrived(let finding):
            self.state = .idle
            return .take(finding)
        }
    }

    /// The answer is there; whoever cannot write it now asks again.
    mutating func arrived(_ finding: HistoryChunk<HistoryLines>, canWrite: Bool) {
        self.state = canWrite ? .arrived(finding) : .idle
    }
}

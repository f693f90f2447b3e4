/// The state of a reader's request for the next few old changes.
///
/// There is one request at a time, and its result is kept only until it is written: a reader whose
/// socket is full has its cursor and nothing else.
struct HistoryReading {
    enum Step {
        /// Request the changes.
        case ask
        /// Wait: they have been requested.
        case wait
        /// The changes, or the reason why there are none, have arrived.
        case take(HistoryChunk<HistoryLines>)
    }

    private enum State {
        case idle
        case asked
        case arrived(HistoryChunk<HistoryLines>)
    }

    private var state = State.idle

    /// Whether later lines of the connection have to wait for this reader's.
    var isUnderWay: Bool {
        switch self.state {
        case .asked: true
        case .idle, .arrived: false
        }
    }

    /// Returns what a reader that can go on has to do next.
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

    /// Takes the answer; a reader that cannot write it now asks again later.
    mutating func arrived(_ finding: HistoryChunk<HistoryLines>, canWrite: Bool) {
        self.state = canWrite ? .arrived(finding) : .idle
    }
}

/// How far a reader of old changes is with the next few of them.
///
/// There is one request at a time, and what it brings is kept only until it is written: a reader whose
/// socket is full has its cursor and nothing else.
struct PastReading {
    enum Step {
        /// The changes have to be asked for.
        case ask
        /// They have been asked for.
        case wait
        case write(PastChanges)
        /// They are not to be had any more.
        case lost
    }

    private enum State {
        case idle
        case asked
        case arrived(PastChanges?)
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
        case .arrived(let changes):
            self.state = .idle
            return changes.map { .write($0) } ?? .lost
        }
    }

    /// The answer is there; whoever cannot write it now asks again.
    mutating func arrived(_ changes: PastChanges?, canWrite: Bool) {
        self.state = canWrite ? .arrived(changes) : .idle
    }
}

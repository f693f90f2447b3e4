import StateMachineClient

/// Decides what to do with a line when a command is run for each change; it has no effects.
struct EachProgress {
    enum Action: Equatable {
        /// Run the command; `resync` says why changes may be missing before the line.
        case run(WatchEvent, resync: String?)
        /// Nothing to run for; the cursor moves on, so that nothing earlier is asked for again.
        case keep
        case pass
        /// Read on after the cursor: what was not sent may still be there.
        case readAgain
    }

    /// The cursor of the last line that was dealt with.
    var cursor: String?
    /// The number of changes whose command has succeeded, or is to.
    private(set) var count = 0
    /// Whether a daemon has ever answered.
    private(set) var isKnown = false
    /// Whether there is no connection.
    var isInterrupted = false
    /// Why changes may be missing before the next line that the command is run for.
    private var resync: String?
    /// Whether this subscription has brought anything.
    private var hasMoved = false

    init(since cursor: String?) {
        self.cursor = cursor
    }

    mutating func subscribedAnew() { self.hasMoved = false }

    mutating func lineReceived(_ line: Line) -> Action {
        (self.isKnown, self.isInterrupted) = (true, false)
        switch line.kind {
        case .change: return self.run(.change)
        case .state:
            guard let resync = line.resync else { return self.moved(.keep) }
            // A slow reader is told to read on from the daemon's disk. If that gains nothing, the
            // lines are lost.
            if resync == "lagged", self.hasMoved, self.cursor != nil { return .readAgain }
            self.resync = resync
            return line.isSelected ? self.run(.state) : self.moved(.pass)
        // What is missing is asked for again until somebody has been told about it.
        case .live: return self.moved(self.resync == nil ? .keep : .pass)
        case .reply, .declared, .ask, .beat, .bye, .other: return .pass
        }
    }

    private mutating func run(_ event: WatchEvent) -> Action {
        self.count += 1
        defer { self.resync = nil }
        return self.moved(.run(event, resync: self.resync))
    }

    private mutating func moved(_ action: Action) -> Action {
        self.hasMoved = true
        return action
    }
}

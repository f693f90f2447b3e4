import StateMachineClient

/// How far a command that is run for each change has come, and what is to be done with a line: decisions only.
struct EachProgress {
    enum Action: Equatable {
        /// Run the command; why changes may be missing before the line.
        case run(WatchEvent, resync: String?)
        /// There is nothing to run for, and nothing before it is to be asked for again.
        case keep
        case pass
        /// Read on after the cursor: what was not sent may still be had.
        case readAgain
    }

    /// The cursor of the last line that was dealt with.
    var cursor: String?
    /// Changes whose command has succeeded, or is to.
    private(set) var count = 0
    /// Whether there ever was a daemon.
    private(set) var isKnown = false
    /// Whether there is no connection.
    var isInterrupted = false
    /// Why changes may be missing before the next that is run for.
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
            // Who reads slowly is told to read on where the disk has it. With nothing gained by that, it is lost.
            if resync == "lagged", self.hasMoved, self.cursor != nil { return .readAgain }
            self.resync = resync
            return line.isSelected ? self.run(.state) : self.moved(.pass)
        // Until somebody has been told what is missing it is asked for again.
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

/// The one thing that is awaited at a time.
struct Activity: Hashable {
    enum Kind: Hashable {
        case nothing
        /// The end of that command.
        case command(CommandName)
        /// That nothing is left of that command.
        case stopping(CommandName)
        /// The daemon's answer about that stay.
        case telling(UInt64)
        /// The alarm of that number.
        case pausing(Int)
        /// The end of the process.
        case finished
    }

    private(set) var kind = Kind.nothing
    private var alarm = 0

    var isNothing: Bool { self.kind == .nothing }

    /// Whether a command is awaited.
    var isBusy: Bool {
        switch self.kind {
        case .command, .stopping, .finished: true
        case .nothing, .telling, .pausing: false
        }
    }

    mutating func begin(_ kind: Kind) { self.kind = kind }

    /// Begins a pause and returns the number of its alarm.
    mutating func beginPause() -> Int {
        self.alarm += 1
        self.kind = .pausing(self.alarm)
        return self.alarm
    }

    /// Ends waiting for `kind`; returns whether it was awaited.
    mutating func ends(_ kind: Kind) -> Bool {
        guard self.kind == kind else { return false }
        self.kind = .nothing
        return true
    }

    /// Ends a pause before its time.
    mutating func endPause() {
        if case .pausing = self.kind { self.kind = .nothing }
    }

    /// Stops waiting for what can be given up: a pause, or an answer.
    mutating func cutShort() {
        if !self.isBusy { self.kind = .nothing }
    }
}

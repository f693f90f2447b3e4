/// The one thing that is waited for at a time.
struct Activity: Hashable {
    enum Kind: Hashable {
        case nothing
        /// The end of that command.
        case command(CommandName)
        /// That nothing is left of it.
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

    /// Whether a command is waited for.
    var isBusy: Bool {
        switch self.kind {
        case .command, .stopping, .finished: true
        case .nothing, .telling, .pausing: false
        }
    }

    mutating func begin(_ kind: Kind) { self.kind = kind }

    /// Returns the number of the alarm.
    mutating func beginPause() -> Int {
        self.alarm += 1
        self.kind = .pausing(self.alarm)
        return self.alarm
    }

    /// Whether that was waited for; it is not any more.
    mutating func ends(_ kind: Kind) -> Bool {
        guard self.kind == kind else { return false }
        self.kind = .nothing
        return true
    }

    /// A pause is over before its time.
    mutating func endPause() {
        if case .pausing = self.kind { self.kind = .nothing }
    }

    /// What can be given up is not waited for any more: a pause, or an answer.
    mutating func cutShort() {
        if !self.isBusy { self.kind = .nothing }
    }
}

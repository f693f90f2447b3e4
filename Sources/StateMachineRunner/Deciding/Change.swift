package import StateMachineClient

/// What a line of the watch says of the machine, as far as commands are concerned.
package struct Change: Hashable, Sendable {
    /// What it says.
    package enum Kind: Hashable, Sendable {
        /// A state was entered: a new stay.
        case entered
        /// The state of the stay has other fields, or another name.
        case updated
        /// The present state, and how much is unknown about what led to it.
        case found(Gap)
    }

    /// What is not known of the changes before.
    package enum Gap: Hashable, Sendable {
        /// Nobody asked for earlier changes.
        case none
        /// That many changes of the same numbering are missing, if the number is known.
        case missed(UInt64?)
        /// The numbering is a different one.
        case otherNumbering
    }

    package let kind: Kind
    /// The seq that began the stay.
    package let stay: UInt64
    package let cursor: String
    package let state: NamedState
    /// The state before, where the line says.
    package let from: NamedState?
    /// Whether it is an old change that was asked for.
    package let isReplay: Bool
    /// The line itself.
    package let line: Line

    /// What a line of a watch says; nil if it is neither a change nor a state.
    package init?(_ line: Line) {
        guard let seq = line.seq, let state = line.state, let cursor = line.cursor else {
            return nil
        }
        switch line.kind {
        case .change:
            self.kind = line.stay == nil ? .entered : .updated
        case .state:
            switch line.resync {
            case nil: self.kind = .found(.none)
            case "evicted", "lagged": self.kind = .found(.missed(line.missed))
            default: self.kind = .found(.otherNumbering)
            }
        case .reply, .live, .declared, .ask, .beat, .bye, .other: return nil
        }
        self.stay = line.stay ?? seq
        self.cursor = cursor
        self.state = state
        self.from = line.from
        self.isReplay = line.isReplay
        self.line = line
    }

    /// Whether it leads out of that stay; if none is known, into the first.
    func leaves(_ stay: EnteredStay?) -> Bool {
        guard let stay else { return true }
        switch self.kind {
        case .entered, .found(.otherNumbering): return true
        // A stay cannot have been updated before it was entered.
        case .updated, .found(.none), .found(.missed): return self.stay != stay.number
        }
    }
}

/// The stay that was entered last.
package struct EnteredStay: Hashable, Sendable {
    /// The seq that began it.
    package let number: UInt64
    /// The present state.
    package var state: NamedState
    /// The line that began it, or the first that mentioned it.
    package let line: Line

    init(number: UInt64, state: NamedState, line: Line) {
        self.number = number
        self.state = state
        self.line = line
    }

    init(_ change: Change) {
        self.init(number: change.stay, state: change.state, line: change.line)
    }
}

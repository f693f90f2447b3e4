package import StateMachineCore

/// Which old transitions are wanted, and from which end.
package struct TransitionQuery: Hashable, Sendable {
    /// Only those after this seq.
    package var after: UInt64
    /// Only those before this seq.
    package var before: UInt64
    /// Whether the newest comes first.
    package var isNewestFirst: Bool
    /// Only those that lead to a state with one of these names; nil: any name.
    package var names: [String]?
    /// Only those that this user requested; nil: anyone, including the process itself.
    package var uid: UInt32?
    /// Only those that came from a command or a unit of this name; nil: from anywhere.
    package var program: String?
    /// Only those whose cause contains this text, byte for byte; nil: any cause.
    package var cause: String?

    /// All transitions between two others.
    package init(after: UInt64, before: UInt64, isNewestFirst: Bool = false) {
        self.after = after
        self.before = before
        self.isNewestFirst = isNewestFirst
    }

    /// Whether it selects among the transitions between the two ends.
    package var isSelective: Bool {
        self.names != nil || self.uid != nil || self.program != nil || self.cause != nil
    }

    /// Whether a transition between the two ends is wanted.
    package func wants(_ transition: RecordedTransition) -> Bool {
        guard self.uid.map({ transition.by?.uid == $0 }) ?? true,
            self.program.map({ transition.by?.runs($0) ?? false }) ?? true,
            self.names?.contains(transition.new.name) ?? true
        else { return false }
        guard let cause = self.cause else { return true }
        return transition.cause?.holds(cause) ?? false
    }
}

/// The first few transitions that a query asks for.
package struct TransitionFinding: Sendable {
    /// In the order requested.
    package var transitions: [RecordedTransition]
    /// The last transition that was examined, wanted or not; for what is wanted beyond it, query
    /// again.
    ///
    /// The one before the query's end if nothing is left.
    package var examined: UInt64
    /// Whether some are missing among those that were examined.
    package var hasGap: Bool

    /// What was found, and how far the search went.
    package init(_ transitions: [RecordedTransition], examined: UInt64, hasGap: Bool = false) {
        self.transitions = transitions
        self.examined = examined
        self.hasGap = hasGap
    }
}

extension Peer {
    /// Whether that is the name of the command, or of the unit, or of a user's unit without the
    /// manager before it.
    package func runs(_ program: String) -> Bool {
        guard self.comm != program, self.unit != program else { return true }
        return self.unit?.split(separator: "/", maxSplits: 1).last.map { $0 == program } ?? false
    }
}

extension String {
    /// Whether it contains the bytes of `text`.
    package func holds(_ text: String) -> Bool {
        var rest = self.utf8[...]
        let wanted = text.utf8
        while rest.count >= wanted.count {
            if rest.starts(with: wanted) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}

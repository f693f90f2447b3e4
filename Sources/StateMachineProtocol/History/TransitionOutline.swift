public import StateMachineCore

/// An outline of consecutive transitions: which states were entered, and when.
public struct TransitionOutline: Hashable, Sendable {
    /// One transition.
    public struct Entry: Hashable, Sendable {
        /// The index in ``TransitionOutline/names`` of the state entered; nil if the stay went on,
        /// as with an update.
        public let state: Int?
        /// When.
        public let at: WallTime

        /// A transition to the state at that index of the names.
        public init(state: Int?, at: WallTime) {
            self.state = state
            self.at = at
        }
    }

    /// The seq of the first; each of the others is one more than the one before.
    public let first: UInt64
    /// The names of the states, each once.
    public private(set) var names: [String] = []
    /// The transitions in their order.
    public private(set) var entries: [Entry] = []
    /// The last transition that was examined: the last of the entries or, if nothing is left, the
    /// last that was requested.
    public var examined: UInt64

    /// An empty outline; the first transition to be added is `first`.
    public init(from first: UInt64) {
        self.first = first
        self.examined = first == 0 ? 0 : first - 1
    }

    /// The same, with the names of the states.
    package init(from first: UInt64, names: [String]) {
        self.init(from: first)
        self.names = names
    }

    /// Adds the next one.
    package mutating func append(_ entry: Entry) {
        self.examined = self.first + UInt64(self.entries.count)
        self.entries.append(entry)
    }

    /// Adds the next one.
    ///
    /// - Parameters:
    ///   - name: the state that it led to.
    ///   - at: when.
    ///   - isSameStay: whether the stay went on, so that the state was not entered.
    public mutating func append(_ name: String, at: WallTime, isSameStay: Bool) {
        var state: Int?
        if !isSameStay {
            // Machines have few states, so a linear search is fast.
            state = self.names.firstIndex { $0.isSpelled(name) } ?? self.names.count
            if state == self.names.count { self.names.append(name) }
        }
        self.append(Entry(state: state, at: at))
    }
}

package import StateMachineCore

/// A transition as it was recorded: its states in their wire form.
///
/// It can be read without knowing the state's type, and shows byte for byte what was sent.
package struct RecordedTransition: Hashable, Sendable {
    /// A state in its encoded form.
    package struct State: Hashable, Sendable {
        /// The case's name.
        package let name: String
        /// The associated values: the text of a JSON object.
        package let data: String

        /// A state of that name with that data.
        package init(name: String, data: String) {
            self.name = name
            self.data = data
        }
    }

    /// Its place in the total order; 0 for the initial state.
    package let seq: UInt64
    /// The state that was left; nil only for seq 0.
    package let old: State?
    /// The state that was entered.
    package let new: State
    /// When it was evaluated, just before it was recorded.
    package let at: WallTime
    /// Why, in the words of whoever set it.
    package let cause: String?
    /// Who set it from outside the process; nil for the process itself.
    package let by: Peer?
    /// The seq that began the stay in the state; nil for a machine that has no stays.
    package let stay: UInt64?
    /// What time was to do to the state, and when: the text of a JSON object; nil if nothing.
    package let due: String?

    /// A transition with everything that is recorded of it.
    package init(
        seq: UInt64,
        old: State?,
        new: State,
        at: WallTime,
        cause: String? = nil,
        by: Peer? = nil,
        stay: UInt64? = nil,
        due: String? = nil
    ) {
        self.seq = seq
        self.old = old
        self.new = new
        self.at = at
        self.cause = cause
        self.by = by
        self.stay = stay
        self.due = due
    }
}

package import StateMachineCore

extension Machine {
    /// The write-ahead log, if it can be read back.
    package var history: (any TransitionHistory)? { self.log as? any TransitionHistory }
}

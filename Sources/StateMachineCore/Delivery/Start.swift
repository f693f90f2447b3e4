extension Registration {
    /// What a new registration hears first.
    public enum Start: Sendable {
        /// The next transition.
        case next
        /// The current state, and then the next transition; nothing lies between them.
        case current
    }
}

typealias Start = Registration.Start

extension StateMachine {
    /// What a new registration hears first.
    public typealias Start = Registration.Start
}

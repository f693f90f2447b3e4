extension Move {
    /// What has to hold for the state that is replaced.
    package enum Condition: Sendable {
        /// Nothing.
        case none
        /// The machine is at that seq.
        case seq(UInt64)
        /// What the function says; it is pure, and may be called again if another thread was
        /// faster.
        case holds(@Sendable (Place) -> Bool)

        /// That seq; with nil nothing.
        package init(seq: UInt64?) { self = seq.map { .seq($0) } ?? .none }

        func isMet(by base: Place) -> Bool {
            switch self {
            case .none: true
            case .seq(let seq): base.seq == seq
            case .holds(let isExpected): isExpected(base)
            }
        }
    }
}

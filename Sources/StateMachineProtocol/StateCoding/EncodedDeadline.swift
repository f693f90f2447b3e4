package import StateMachineCore

/// What time does to a state, as lines show it; the same for every stay in that state.
package struct EncodedDeadline: Sendable {
    /// From the beginning of the stay.
    package let delay: Duration
    /// The state to be entered then, as ``StateCoding/fragment(of:)`` encodes it.
    let fragment: [UInt8]

    /// The deadline of a stay with that start.
    package func due(since start: StayStart) -> ServerLine.Due {
        ServerLine.Due(fragment: self.fragment, at: start.wall(after: self.delay))
    }
}

extension StateCoding {
    /// What time does to a state; nil if nothing.
    package func deadline(of state: State) -> EncodedDeadline? {
        self.behaviour?.deadline(of: state).map { deadline in
            EncodedDeadline(
                delay: deadline.delay,
                fragment: self.fragment(of: deadline.move.next)
            )
        }
    }
}

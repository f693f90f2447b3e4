import StateMachineCore
import StateMachineProtocol

extension StateCoding {
    /// What time does to a state that the machine has been in since then, as lines show it; nil if nothing.
    func due(in state: State, since start: StayStart) -> ServerLine.Due? {
        self.behaviour?.deadline(of: state).map { deadline in
            ServerLine.Due(
                fragment: self.fragment(of: deadline.move.next),
                at: start.wall(after: deadline.delay)
            )
        }
    }
}

/// What the gate answers events with.
extension Gate {
    /// What is to be done next, under no lock where nothing else is said.
    @usableFromInline
    enum Action: Sendable {
        /// Decide on those that nobody is asked about; nothing moves meanwhile: ``evaluated(_:at:)``.
        case evaluateAll([Pending], from: Snapshot<State>)
        /// Have the log commit these: ``committed(failure:)``.
        case commit([Transition<State>])
        /// Enter what these enter, at once and under the lock, then tell their proposers.
        case tell([Evaluated])
        /// See to the first of those that voters may have to be asked about.
        case asking(Asking)
        /// See to a state that is to be recast.
        case recasting(Recasting)
    }

    /// Where a proposal is that has come.
    @usableFromInline
    enum Arrival: Sendable {
        /// Its turn may be now: somebody has to pump.
        case entered
        /// Left until more has come.
        case left
        /// Nowhere: there is no room.
        case refused
    }

    /// Where a proposal was that is withdrawn.
    enum Withdrawal: Sendable {
        /// In the queue, which it has left.
        case left
        /// Before the voters: their ballot is to end.
        case isAsked(Ballot<State>)
        /// Before the pump, which finds that it is withdrawn.
        case isEvaluated
        /// Decided.
        case tooLate
    }
}

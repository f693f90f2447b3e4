/// The gate's answers to events.
extension Gate {
    /// What to do next, under no lock unless stated otherwise.
    enum Action: Sendable {
        /// Decide on proposals that ask nobody; nothing moves meanwhile: ``evaluated(_:at:)``.
        case evaluateAll([Pending], from: Place)
        /// Ask the log to commit these: ``committed(failure:)``.
        case commit([Change])
        /// Enter what these enter, at once and under the lock, then tell their proposers.
        case tell([Evaluated])
        /// Handle the first proposal that voters may have to be asked about.
        case asking(Asking)
        /// Handle a state that is to be recast.
        case recasting(Recasting)
    }

    /// Where a new proposal went.
    enum Arrival: Sendable {
        /// Its turn may have come: the caller has to pump.
        case entered
        /// Left until more has come.
        case left
        /// Nowhere: there was no room.
        case refused
    }

    /// Where a withdrawn proposal was.
    enum Withdrawal: Sendable {
        /// In the queue; it has been removed.
        case left
        /// With the voters: their ballot is to end.
        case isAsked(Ballot)
        /// With the pump, which will find that it is withdrawn.
        case isEvaluated
        /// Decided.
        case tooLate
    }
}

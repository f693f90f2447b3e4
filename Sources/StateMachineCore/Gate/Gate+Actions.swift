/// What the gate answers events with.
extension Gate {
    /// What is to be done next, under no lock where nothing else is said.
    enum Action: Sendable {
        /// Decide on the first proposal: ``evaluated(_:as:from:at:decided:)``.
        case evaluate(Pending, from: Snapshot<State>, asking: [VoterMember<State>])
        /// Decide on those that nobody is asked about; nothing moves meanwhile: ``evaluated(_:at:)``.
        case evaluateAll([Pending], from: Snapshot<State>)
        /// The voters agree. Ask whether the proposer still does: ``confirmed(_:with:at:)``.
        case confirm(Pending, Ballot<State>)
        /// Have the log commit these: ``committed(failure:)``.
        case commit([Transition<State>])
        /// Enter what these enter, at once and under the lock, then tell their proposers.
        case tell([Evaluated])
        /// Put the question, at once and under the lock, then wake who is asked:
        /// ``voted(_:)``.
        case ask(Ballot<State>, Question, waited: (@Sendable () -> Duration)?)
        /// Decide how the state is recast: ``recast(_:as:from:at:)``.
        case recast(PendingRecast<State>, from: Snapshot<State>)
        /// Replace the state, at once and under the lock, then tell who wanted that.
        case replace(PendingRecast<State>, Snapshot<State>, with: State)
        /// Tell who wanted the state recast that it cannot be.
        case refuse(PendingRecast<State>, String)
        /// Close a question, whose answer does not count any more.
        case void(Ballot<State>)
    }

    /// How a state is to be recast.
    enum RecastDecision: Sendable {
        case refuse(String)
        case replace(State)
        case enter(TransitionEntry<State>)
    }

    /// What is to become of the first proposal.
    enum Decision: Sendable {
        case refuse(TransitionError<State>)
        case leave
        case enter(TransitionEntry<State>)
        case ask([VoterMember<State>], Proposal<State>, Question)
    }

    /// Where a proposal is that has come.
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

/// What becomes of a machine's state when the description of its states changes.
package enum Recast: Sendable {
    /// It looks the same from outside: it is replaced, and no transition is made.
    case same(Value)
    /// It looks different: a transition says so, and the stay goes on.
    case changed(Value)
    /// The state no longer exists, for that reason: everything stays as it is.
    case impossible(String)
}

/// What became of a machine's state that was to be recast.
package enum RecastOutcome: Sendable {
    /// It was replaced: the machine is where it was, and everything after that finds the other state.
    case same(Place)
    /// A transition into it was made.
    case changed(Change)
    /// Nothing has happened, for that reason.
    case impossible(String)
    /// The transition could not be committed, and nothing has happened.
    case failed(Refused)
}

/// A state that is to be recast, before anything else is evaluated.
final class PendingRecast: Sendable {
    /// Pure; decides what becomes of the state that the machine is in by then.
    let make: @Sendable (Place) -> Recast
    /// Why, carried by the transition if there is one.
    let cause: String?
    /// Where the completion is called.
    let place: any CompletionPlace
    let completion: @Sendable (RecastOutcome) -> Void

    init(
        cause: String?,
        in place: any CompletionPlace,
        _ make: @escaping @Sendable (Place) -> Recast,
        completion: @escaping @Sendable (RecastOutcome) -> Void
    ) {
        self.make = make
        self.cause = cause
        self.place = place
        self.completion = completion
    }

    /// The transition into that state for the gate: already evaluated, and asking nobody.
    func evaluated(_ entry: ChangeEntry) -> EvaluatedProposal {
        let pending = PendingProposal(
            Move(to: .made { _ in entry.change.new }, as: .update, cause: self.cause),
            asking: nil,
            place: self.place,
            completion: { answer in
                switch answer {
                case .success(.committed(let change)): self.completion(.changed(change))
                case .success(.unchanged(let place)): self.completion(.same(place))
                case .failure(let error): self.completion(.failed(error))
                }
            }
        )
        return EvaluatedProposal(pending, .entering(entry))
    }
}

extension Machine {
    /// Replaces the state by its equivalent under a changed description, against which everything
    /// not evaluated yet is then evaluated.
    ///
    /// It goes before all that waits its turn, and after all that is on its way to the log. An open
    /// question is closed, and its proposal is evaluated anew. Nobody is asked, and only a state
    /// that looks different makes a transition.
    ///
    /// - Parameters:
    ///   - cause: why, carried by that transition.
    ///   - place: where `completion` is called, in order with what is decided before and after.
    ///   - make: pure, and may be called again; decides what becomes of the state.
    ///   - completion: called with what became of it, once; it must not block.
    package func recast(
        cause: String?,
        in place: any CompletionPlace,
        _ make: @escaping @Sendable (Place) -> Recast,
        completion: @escaping @Sendable (RecastOutcome) -> Void
    ) {
        let recast = PendingRecast(cause: cause, in: place, make, completion: completion)
        self.holder.withLock { $0.gate.recastCame(recast) }
        self.pump()
    }
}

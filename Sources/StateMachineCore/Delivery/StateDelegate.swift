/// Hears of every transition of a machine, in order, on a context of its own.
public protocol StateDelegate<State>: AnyObject, Sendable {
    /// The state that it listens to.
    associatedtype State: MachineState

    /// Called once for each transition, on the context given at registration, under no lock.
    ///
    /// It may read and set the machine: a transition made here is committed at once, gets a later
    /// seq, and is delivered after this one.
    func stateChanged(_ transition: Transition<State>)

    /// Called instead, on the same context, when the context was so late that the machine has
    /// dropped transitions it had not heard of yet.
    ///
    /// The next call of ``stateChanged(_:)`` is for the transition after `now`. The default does
    /// nothing.
    ///
    /// With a ``Delivery`` it is also called for transitions there was no room for; `now` is then
    /// where the machine was before the next transition delivered, with that one's time.
    ///
    /// - Parameters:
    ///   - count: how many transitions this delegate will never hear of.
    ///   - now: the state and seq that the last of them led to.
    func transitionsMissed(_ count: Int, now: Snapshot<State>)
}

extension StateDelegate {
    /// Does nothing.
    public func transitionsMissed(_ count: Int, now: Snapshot<State>) {}
}

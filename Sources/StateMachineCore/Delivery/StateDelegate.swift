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

/// The states of some names, as a member asks for them.
///
/// Each case's name is looked up once: names are strings, and comparing them for each member and
/// each change would cost more than the calls.
struct StateFilter: Sendable {
    let names: Set<String>
    /// A bit for each of the first 64 cases: whether it has been looked up.
    private var known: UInt64 = 0
    /// The same bits: whether the case is wanted.
    private var wanted: UInt64 = 0

    init(_ names: Set<String>) { self.names = names }

    /// Whether the state has one of the names.
    ///
    /// - Parameters:
    ///   - value: the state.
    ///   - tag: which of the cases it is; nil if states are not enum cases, or that was not
    ///     determined.
    /// - Returns: what the filter has learnt of such a case, or learns now.
    mutating func contains(_ value: Value, as tag: UInt32?) -> Bool {
        guard let tag, tag < 64 else { return self.names.contains(value.name) }
        let bit: UInt64 = 1 << UInt64(tag)
        if self.known & bit == 0 {
            self.known |= bit
            if self.names.contains(value.name) { self.wanted |= bit }
        }
        return self.wanted & bit != 0
    }
}

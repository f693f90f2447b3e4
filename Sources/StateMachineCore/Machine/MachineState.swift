/// A state that a ``StateMachine`` can hold: what the machine needs to know of a value.
///
/// An enum adopts ``EnumState``, which asks for what it takes to show the state to others, and gives most of
/// this.
public protocol MachineState: Hashable, Sendable {
    /// What the kinds of states are called, without the values that they carry.
    associatedtype Name: RawRepresentable<String>, Hashable, Sendable

    /// What this state is called, without its values.
    var name: Name { get }

    /// The states that may follow this one.
    ///
    /// Pure: it gives the same answer every time. A state that may be followed by another value of
    /// itself lists its own name.
    var successors: Set<Name> { get }

    /// Whether `next` may follow this state: whether its name is among the ``successors``, unless the
    /// type has a quicker answer, or one that looks at the values.
    ///
    /// Pure, and asked at every assignment, where building a set is the greater part of the cost.
    func mayBecome(_ next: Self) -> Bool
}

extension MachineState {
    /// Whether its name is among the ``successors``.
    @inlinable
    public func mayBecome(_ next: Self) -> Bool { self.successors.contains(next.name) }
}

/// A state that a ``StateMachine`` can hold: any enum, each case with the data that means something
/// in that case.
///
/// Conformance to `Codable` is the one that the compiler writes; it is how a state gets its form on
/// the wire. Equality includes the associated values, ``name`` leaves them out.
public protocol MachineState: Hashable, Sendable, Codable {
    /// The cases without their associated values, spelled as the cases are.
    associatedtype Name: RawRepresentable<String>, CaseIterable, Hashable, Sendable

    /// The state that a machine is in before anybody has set one. It is never announced.
    static var initial: Self { get }

    /// The case that this state is; found by encoding the state unless the type says it quicker.
    var name: Name { get }

    /// The states that may follow this one; all of them unless the type says otherwise.
    ///
    /// Pure: it gives the same answer every time. A state that may be followed by another value of
    /// its own case names itself too.
    var successors: Set<Name> { get }

    /// Whether a state of that name may follow this one: whether it is among the ``successors``,
    /// unless the type has a quicker answer to the same question.
    ///
    /// Asked at every assignment, where building a set is the greater part of the cost.
    func mayBecome(_ next: Name) -> Bool
}

extension MachineState {
    /// Whether `next` is among the ``successors``.
    public func mayBecome(_ next: Name) -> Bool { self.successors.contains(next) }

    /// Every state may follow every other.
    public var successors: Set<Name> { Set(Name.allCases) }
}

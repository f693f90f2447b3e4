/// A state that is a case of an enum, each case with the data that means something in that case.
///
/// Conformance to `Codable` is the one that the compiler writes; it is how a state gets its form on
/// the wire. Equality includes the associated values, ``MachineState/name`` leaves them out.
public protocol EnumState: MachineState, Codable where Name: CaseIterable {
    /// The state that a machine is in before anybody has set one. It is never announced.
    static var initial: Self { get }
}

extension EnumState {
    /// Every state may follow every other.
    public var successors: Set<Name> { Set(Name.allCases) }
}

extension StateMachine where State: EnumState {
    /// A machine in that state, with nobody told.
    public convenience init(_ initial: State = .initial, options: Options = Options()) {
        self.init(resuming: Snapshot(seq: 0, state: initial, at: .now), options: options)
    }
}

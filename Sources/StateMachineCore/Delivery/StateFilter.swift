/// The states of some names, as a member asks for them.
///
/// Each case's name is looked up once: names are strings, and comparing them for each member and
/// each transition would cost more than the calls.
@usableFromInline
struct StateFilter<State: MachineState>: Sendable {
    let names: Set<State.Name>
    /// A bit for each of the first 64 cases: whether it has been looked up.
    @usableFromInline var known: UInt64 = 0
    /// The same bits: whether the case is wanted.
    @usableFromInline var wanted: UInt64 = 0

    init(_ names: Set<State.Name>) { self.names = names }

    /// Whether the state has one of the names.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - tag: which of the cases it is; nil if states are not enum cases, or that was not
    ///     determined.
    /// - Returns: what the filter has learnt of such a case, or learns now.
    @inlinable
    mutating func contains(_ state: State, as tag: UInt32?) -> Bool {
        guard let tag, tag < 64 else { return self.containsName(of: state) }
        let bit: UInt64 = 1 << UInt64(tag)
        if self.known & bit == 0 {
            self.known |= bit
            if self.containsName(of: state) { self.wanted |= bit }
        }
        return self.wanted & bit != 0
    }

    @usableFromInline
    func containsName(of state: State) -> Bool { self.names.contains(state.name) }
}

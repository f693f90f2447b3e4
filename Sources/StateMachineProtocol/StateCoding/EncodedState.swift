package import StateMachineCore

/// A state by what the wire shows of it, encoded once for all lines that carry it.
///
/// Not of the state's type: whoever only sends, matches and compares states needs no more than this.
/// `@unchecked Sendable`: nothing in it changes, which goes for the subclass too.
package class EncodedState: @unchecked Sendable {
    package final let name: String
    /// For patterns to look at.
    package final let data: JSONValue
    /// What ``StateCoding/fragment(of:)`` makes of it.
    package final let fragment: [UInt8]

    fileprivate init(name: String, data: JSONValue, fragment: [UInt8]) {
        self.name = name
        self.data = data
        self.fragment = fragment
    }

    /// The names of the states that may follow it, in no order.
    package var successors: Set<String> { [] }

    package final func matches(_ pattern: Pattern) -> Bool { pattern.matches(self.name, self.data) }
}

/// A state beside what the wire shows of it.
package final class TypedState<State: MachineState & Hashable>: EncodedState, @unchecked Sendable {
    package let state: State
    /// What time does to it; nil if nothing.
    package let deadline: EncodedDeadline?

    package init(_ state: State, _ coding: StateCoding<State>) {
        self.state = state
        self.deadline = coding.deadline(of: state)
        let data = coding.data(of: state)
        super.init(
            name: state.name.rawValue,
            data: data,
            fragment: coding.fragment(of: state, data: data)
        )
    }

    package override var successors: Set<String> { Set(self.state.successors.map(\.rawValue)) }
}

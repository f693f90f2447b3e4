package import StateMachineCore

/// A state as the wire shows it, encoded once for all lines that carry it.
///
/// Not generic over the state's type: code that only sends, matches and compares states needs no
/// more. `@unchecked Sendable`: nothing in it changes, nor in the subclass.
package class EncodedState: @unchecked Sendable {
    package final let name: String
    /// For patterns to match.
    package final let data: JSONValue
    /// The state as ``StateCoding/fragment(of:)`` encodes it.
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

/// A state with its wire form.
package final class TypedState<State: MachineState & Hashable>: EncodedState, @unchecked Sendable {
    /// The state as a machine holds it.
    package let value: TypedValue<State>
    package var state: State { self.value.state }
    /// What time does to it; nil if nothing.
    package let deadline: EncodedDeadline?

    package init(_ state: State, _ coding: StateCoding<State>) {
        self.value = TypedValue(state)
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

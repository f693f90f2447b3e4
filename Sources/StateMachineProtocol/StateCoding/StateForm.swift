package import StateMachineCore

/// What a machine's states look like from outside, said once for a machine: what they are called and carry,
/// where a machine begins, and how a state is written and read.
package protocol StateForm<State>: Sendable {
    /// The states.
    associatedtype State: MachineState

    /// Their names, fields and successors.
    var schema: StateSchema { get }

    /// The state that a machine is in before anybody has set one.
    var initial: State { get }

    /// A state's `data`: an object.
    func data(of state: State) -> JSONValue

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    func state(_ name: String, data: JSONValue?) throws(WireError) -> State
}

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

    /// What the machine does beside being set; nil if nothing.
    var behaviour: (any StateBehaviour<State>)? { get }
}

extension StateForm {
    /// None: such a machine is set, and that is all.
    package var behaviour: (any StateBehaviour<State>)? { nil }
}

/// What a machine does beside being set: events, updates and deadlines.
///
/// Pure: the same answers every time.
package protocol StateBehaviour<State>: Sendable {
    /// The states.
    associatedtype State: MachineState

    /// What the machine is called, for `describe`; nil if it has no name.
    var machine: String? { get }

    /// What may be sent to it, with the fields of each, for `describe`.
    var events: JSONValue { get }

    /// What there is to know of a state beside its fields, for `describe`.
    func description(of name: String) -> [JSONMember]

    /// What an event does in a state.
    ///
    /// - Throws: `unknown-event` or `bad-data`.
    func reaction(
        to event: String,
        data: [JSONMember],
        in state: State
    ) throws(WireError) -> Reaction<State>

    /// The state with other values.
    ///
    /// - Throws: `bad-data`.
    func updated(_ state: State, with data: [JSONMember]) throws(WireError) -> State

    /// What time does to a state; nil if nothing.
    func deadline(of state: State) -> Deadline<State>?
}

/// What an event does to a state.
package enum Reaction<State: MachineState>: Sendable {
    /// That one is entered: a new stay.
    case enter(State)
    /// The stay goes on, and its deadline begins anew.
    case stay
    /// Nothing, on purpose.
    case ignore
    /// Nothing: the state does not ask for it.
    case unhandled
}

/// What time does to a state.
package struct Deadline<State: MachineState>: Sendable {
    /// From the beginning of the stay.
    package let delay: Duration
    /// What is entered then.
    package let next: State
    /// Why, as the change says.
    package let cause: String

    package init(delay: Duration, next: State, cause: String) {
        self.delay = delay
        self.next = next
        self.cause = cause
    }
}

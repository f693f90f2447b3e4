package import StateMachineCore

/// How a machine's states look from outside: their names and fields, where a machine begins, and
/// how a state is encoded and decoded.
package protocol StateForm<State>: Sendable {
    /// The states.
    associatedtype State: MachineState & Hashable

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

    /// What the machine does besides being set; nil if nothing.
    var behaviour: (any StateBehaviour<State>)? { get }

    /// The declaration of the states, if it may change; nil for states built into a program.
    var declaration: RecordedDeclaration? { get }

    /// Why no machine can have such states, one sentence each; empty if one can.
    var problems: [String] { get }

    /// Converts a recorded state, perhaps from when the states looked different, to one of these.
    ///
    /// - Throws: what is missing.
    func carried(_ name: String, data: [JSONMember]) throws(NotCarriedOver) -> State

    /// The state to start in if the present state cannot be carried over; nil refuses to start.
    var lost: State? { get }
}

/// Why a recorded state cannot become one of a machine's.
package struct NotCarriedOver: Error, Hashable, Sendable {
    /// What is missing and what to do about it.
    package let sentence: String
    /// Whether there is such a state, so that it is its data that does not fit.
    package let hasState: Bool

    package init(sentence: String, hasState: Bool) {
        self.sentence = sentence
        self.hasState = hasState
    }
}

extension StateForm {
    /// None.
    package var problems: [String] { [] }

    /// None.
    package var declaration: RecordedDeclaration? { nil }

    /// Treats it like a client's request.
    package func carried(
        _ name: String,
        data: [JSONMember]
    ) throws(NotCarriedOver) -> State {
        do {
            return try self.state(name, data: .object(data))
        } catch {
            throw NotCarriedOver(sentence: error.message, hasState: error.code != .unknownState)
        }
    }

    /// None.
    package var lost: State? { nil }

    /// None: such a machine can only be set.
    package var behaviour: (any StateBehaviour<State>)? { nil }
}

/// What a machine does besides being set: events, updates and deadlines.
///
/// Pure: the same answers every time. Questions about a state are answered by the declaration of
/// that state, whether in force or not; what `describe` shows is of the form that has this
/// behaviour.
package protocol StateBehaviour<State>: Sendable {
    /// The states.
    associatedtype State: MachineState & Hashable

    /// The machine's name, for `describe`; nil if it has none.
    var machine: String? { get }

    /// The events that may be sent to it, with the fields of each, for `describe`.
    var events: JSONValue { get }

    /// What there is to know about a state besides its fields, for `describe`.
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
    /// - Parameters:
    ///   - state: the present one.
    ///   - data: values that replace the present ones.
    ///   - amounts: numbers that are added to the present values of other fields.
    /// - Returns: the state to be in.
    /// - Throws: `bad-data`.
    func updated(
        _ state: State,
        with data: [JSONMember],
        adding amounts: [JSONMember]
    ) throws(WireError) -> State

    /// Whether there is such an event.
    func isDeclared(_ event: String) -> Bool

    /// What the end of the command that a state runs does.
    ///
    /// - Parameters:
    ///   - data: the fields of ``StateSchema/endOfRun``.
    ///   - state: the machine's state by then.
    /// - Throws: `bad-data`, whatever the state.
    /// - Returns: nil if nothing.
    func move(
        onEndOfRun data: [JSONMember],
        in state: State
    ) throws(WireError) -> MachineMove<State>?

    /// What time does to a state; nil if nothing.
    func deadline(of state: State) -> Deadline<State>?

    /// What the first start after a boot does; nil: the state goes on.
    func boot(of state: State) -> MachineMove<State>?

    /// How many moves of its own a machine in that state may make in what time, without any
    /// request.
    func allowance(of state: State) -> (moves: Int, time: Duration)

    /// The fields that a state may carry, for interpreting words.
    func fields(of state: State) -> [StateField]

    /// Whether a state is in the group of that name.
    func isMember(_ state: State, ofGroup name: String) -> Bool

    /// The declaration of a state.
    func declaration(of state: State) -> RecordedDeclaration

    /// The requested state under the declaration of `present`, if the machine's declaration has
    /// changed since the request; nil if not, so that the state is right as it is.
    ///
    /// - Throws: `unknown-state` or `bad-data`: the declaration in force does not have it.
    func restated(_ state: State, in present: State) throws(WireError) -> State?
}

/// What an event does to a state.
package enum Reaction<State: MachineState & Hashable>: Sendable {
    /// Enters that state: a new stay.
    case enter(State)
    /// Keeps the stay, whose deadline begins anew.
    case stay
    /// Does nothing, on purpose.
    case ignore
    /// Does nothing: the state does not handle it.
    case unhandled
}

/// A move that a machine makes by itself.
package struct MachineMove<State: MachineState & Hashable>: Sendable {
    /// The state to enter.
    package let next: State
    /// Why, as given in the change.
    package let cause: String

    package init(to next: State, cause: String) {
        self.next = next
        self.cause = cause
    }
}

/// What time does to a state.
package struct Deadline<State: MachineState & Hashable>: Sendable {
    /// Counted from the beginning of the stay.
    package let delay: Duration
    package let move: MachineMove<State>

    package init(delay: Duration, _ move: MachineMove<State>) {
        self.delay = delay
        self.move = move
    }
}

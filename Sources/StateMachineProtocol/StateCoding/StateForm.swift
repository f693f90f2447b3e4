package import StateMachineCore

/// What a machine's states look like from outside, said once for a machine: what they are called and carry,
/// where a machine begins, and how a state is written and read.
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

    /// What the machine does beside being set; nil if nothing.
    var behaviour: (any StateBehaviour<State>)? { get }

    /// What says how the states look, if that may change; nil of states that a program has in it.
    var declaration: RecordedDeclaration? { get }

    /// Why no machine can have such states, a sentence each; empty if one can.
    var problems: [String] { get }

    /// A state that was written down, perhaps when the states looked different, as one of these.
    ///
    /// - Throws: what is missing.
    func carried(_ name: String, data: [JSONMember]) throws(NotCarriedOver) -> State

    /// Where to go at a start at which the present state cannot be carried over; nil to refuse.
    var lost: State? { get }
}

/// Why a state that was written down cannot be one of a machine's.
package struct NotCarriedOver: Error, Hashable, Sendable {
    /// What is missing and what to do about it.
    package let sentence: String
    /// Whether there is such a state, and what it carries does not fit.
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

    /// As a client may ask for it.
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

    /// None: such a machine is set, and that is all.
    package var behaviour: (any StateBehaviour<State>)? { nil }
}

/// What a machine does beside being set: events, updates and deadlines.
///
/// Pure: the same answers every time. What is asked of a state is answered by what declares that state, be it
/// in force or not; what `describe` shows is as the form says that this is of.
package protocol StateBehaviour<State>: Sendable {
    /// The states.
    associatedtype State: MachineState & Hashable

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

    /// Whether there is such an event.
    func isDeclared(_ event: String) -> Bool

    /// What an end of the command that a state runs does.
    ///
    /// - Parameters:
    ///   - data: what ``StateSchema/endOfRun`` carries.
    ///   - state: where it finds the machine.
    /// - Throws: `bad-data`, whatever the state.
    /// - Returns: nil if nothing.
    func move(
        onEndOfRun data: [JSONMember],
        in state: State
    ) throws(WireError) -> MachineMove<State>?

    /// What time does to a state; nil if nothing.
    func deadline(of state: State) -> Deadline<State>?

    /// What the first start does after the machine was started anew; nil: the state goes on.
    func boot(of state: State) -> MachineMove<State>?

    /// How many moves of its own a machine in that state may make in what time, while nobody asks for anything.
    func allowance(of state: State) -> (moves: Int, time: Duration)

    /// What a state may carry, for words to be read by.
    func fields(of state: State) -> [StateField]

    /// Whether a state is in the group of that name.
    func isMember(_ state: State, ofGroup name: String) -> Bool

    /// What declares a state.
    func declaration(of state: State) -> RecordedDeclaration

    /// A state that was asked for, as it is where the machine is in `present`, if what declares the machine has
    /// become another since; nil if it has not, so that the state is as it was.
    ///
    /// - Throws: `unknown-state` or `bad-data`: what is in force now does not have it.
    func restated(_ state: State, in present: State) throws(WireError) -> State?
}

/// What an event does to a state.
package enum Reaction<State: MachineState & Hashable>: Sendable {
    /// That one is entered: a new stay.
    case enter(State)
    /// The stay goes on, and its deadline begins anew.
    case stay
    /// Nothing, on purpose.
    case ignore
    /// Nothing: the state does not ask for it.
    case unhandled
}

/// What a machine does by itself.
package struct MachineMove<State: MachineState & Hashable>: Sendable {
    /// What is entered.
    package let next: State
    /// Why, as the change says.
    package let cause: String

    package init(to next: State, cause: String) {
        self.next = next
        self.cause = cause
    }
}

/// What time does to a state.
package struct Deadline<State: MachineState & Hashable>: Sendable {
    /// From the beginning of the stay.
    package let delay: Duration
    package let move: MachineMove<State>

    package init(delay: Duration, _ move: MachineMove<State>) {
        self.delay = delay
        self.move = move
    }
}

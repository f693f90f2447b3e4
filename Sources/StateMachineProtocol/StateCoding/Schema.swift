package import StateMachineCore

/// What states a machine has, how they look from outside, and what the machine does besides being set.
///
/// Of a program's enum it is a ``StateCoding``; a file declares another kind. Pure: the same answers every time.
/// Questions about a state are answered by the declaration of that state, whether in force or not. What has a default is
/// that of a machine which can only be set.
package protocol Schema: AnyObject, Sendable {
    /// The states' names, fields and successors.
    var described: StateSchema { get }

    /// Why no machine can have such states, one sentence each; empty if one can.
    var problems: [String] { get }

    /// The state that a machine is in before anybody has set one.
    var initial: Value { get }

    /// The state to start in if the present state cannot be carried over; nil refuses to start.
    var lost: Value? { get }

    /// A state's `data`: an object.
    func data(of value: Value) -> JSONValue

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    func value(_ name: String, data: JSONValue?) throws(WireError) -> Value

    /// Converts a recorded state, perhaps from when the states looked different, to one of these.
    ///
    /// - Throws: what is missing.
    func carried(_ name: String, data: [JSONMember]) throws(NotCarriedOver) -> Value

    // MARK: - What only a declared machine has

    /// The declaration of the states, if it may change; nil for states built into a program.
    var declaration: RecordedDeclaration? { get }

    /// The events that may be sent to it, with the fields of each, for `describe`; nil if it takes none.
    var events: JSONValue? { get }

    /// What there is to know about a state besides its fields, for `describe`.
    func description(of name: String) -> [JSONMember]

    /// What an event does in a state.
    ///
    /// - Throws: `unknown-event` or `bad-data`.
    func reaction(
        to event: String,
        data: [JSONMember],
        in value: Value
    ) throws(WireError) -> Reaction

    /// The state with other values.
    ///
    /// - Parameters:
    ///   - value: the present one.
    ///   - data: values that replace the present ones.
    ///   - amounts: numbers that are added to the present values of other fields.
    /// - Returns: the state to be in.
    /// - Throws: `bad-data`.
    func updated(
        _ value: Value,
        with data: [JSONMember],
        adding amounts: [JSONMember]
    ) throws(WireError) -> Value

    /// What the end of the command that a state runs does.
    ///
    /// - Parameters:
    ///   - data: the fields of ``StateSchema/endOfRun``.
    ///   - value: the machine's state by then.
    /// - Throws: `bad-data`, whatever the state.
    /// - Returns: nil if nothing.
    func move(onEndOfRun data: [JSONMember], in value: Value) throws(WireError) -> MachineMove?

    /// What time does to a state; nil if nothing.
    func deadline(of value: Value) -> Deadline?

    /// What the first start after a boot does; nil: the state goes on.
    func boot(of value: Value) -> MachineMove?

    /// How many moves of its own a machine in that state may make in what time, without any
    /// request; nil of a machine that makes none.
    func allowance(of value: Value) -> (moves: Int, time: Duration)?

    /// The fields that a state may carry, for interpreting words.
    func fields(of value: Value) -> [StateField]

    /// Whether a state is in the group of that name.
    func isMember(_ value: Value, ofGroup name: String) -> Bool

    /// The declaration of a state; nil for states built into a program.
    func declaration(of value: Value) -> RecordedDeclaration?

    /// The requested state under the declaration of `present`, if the machine's declaration has
    /// changed since the request; nil if not, so that the state is right as it is.
    ///
    /// - Throws: `unknown-state` or `bad-data`: the declaration in force does not have it.
    func restated(_ value: Value, in present: Value) throws(WireError) -> Value?
}

extension Schema {
    package var problems: [String] { [] }
    package var lost: Value? { nil }
    package var declaration: RecordedDeclaration? { nil }
    /// Whether the machine has events, updates and deadlines, and so stays; else it can only be set.
    package var hasStays: Bool { self.declaration != nil }
    package var events: JSONValue? { nil }
    package func description(of name: String) -> [JSONMember] { [] }
    package func reaction(
        to event: String,
        data: [JSONMember],
        in value: Value
    ) throws(WireError) -> Reaction { .unhandled }
    package func updated(
        _ value: Value,
        with data: [JSONMember],
        adding amounts: [JSONMember]
    ) throws(WireError) -> Value { value }
    package func move(
        onEndOfRun data: [JSONMember],
        in value: Value
    ) throws(WireError) -> MachineMove? { nil }
    package func deadline(of value: Value) -> Deadline? { nil }
    package func boot(of value: Value) -> MachineMove? { nil }
    package func allowance(of value: Value) -> (moves: Int, time: Duration)? { nil }
    package func fields(of value: Value) -> [StateField] { [] }
    package func isMember(_ value: Value, ofGroup name: String) -> Bool { false }
    package func declaration(of value: Value) -> RecordedDeclaration? { nil }
    package func restated(_ value: Value, in present: Value) throws(WireError) -> Value? { nil }
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

/// What an event does to a state.
package enum Reaction: Sendable {
    /// Enters that state: a new stay.
    case enter(Value)
    /// Keeps the stay, whose deadline begins again.
    case stay
    /// Does nothing, on purpose.
    case ignore
    /// Does nothing: the state does not handle it.
    case unhandled
}

/// A move that a machine makes by itself.
package struct MachineMove: Sendable {
    /// The state to enter.
    package let next: Value
    /// Why, as given in the change.
    package let cause: String

    package init(to next: Value, cause: String) {
        self.next = next
        self.cause = cause
    }
}

/// What time does to a state.
package struct Deadline: Sendable {
    /// Counted from the beginning of the stay.
    package let delay: Duration
    package let move: MachineMove

    package init(delay: Duration, _ move: MachineMove) {
        self.delay = delay
        self.move = move
    }
}

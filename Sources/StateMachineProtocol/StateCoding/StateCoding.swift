public import StateMachineCore

/// A program's states in their wire form.
///
/// Costly to create, since the examples are encoded; create one and keep it. The typed face of a ``Schema``.
public final class StateCoding<State: EnumState>: Sendable {
    package let schema: any Schema

    /// Why no daemon starts with such states, one sentence each: a case that no example shows, a name or a
    /// successor that is no case, an old name of nothing. Empty, as a test of the program expects, if one can:
    ///
    /// ```swift
    /// #expect(StateCoding<Kiosk>().problems == [])
    /// ```
    public var problems: [String] { self.schema.problems }

    /// The values of an enum, in the form that its examples show.
    ///
    /// `state` is the case's name, `data` an object with the associated values by label. One
    /// without a label is `value`; further ones are `value2`, `value3` and so on.
    public init() { self.schema = EnumSchema<State>() }

    /// A state as a value of the machine; nil if it is not one, as when the daemon holds another
    /// machine.
    public func state(_ named: NamedState) -> State? {
        do {
            return try self.state(named.name, data: .object(named.data))
        } catch {
            // The caller asked whether it is one and has no use for the reason why not.
            return nil
        }
    }

    /// A state as it appears in a line or a request.
    public func named(_ state: State) -> NamedState {
        NamedState(state.name.rawValue, self.schema.data(of: TypedValue(state)).members ?? [])
    }

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    package func state(_ name: String, data: JSONValue?) throws(WireError) -> State {
        TypedValue.state(of: try self.schema.value(name, data: data))
    }
}

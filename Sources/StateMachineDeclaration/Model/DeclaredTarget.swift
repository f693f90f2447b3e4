package import StateMachineProtocol

/// Where a move leads, and where each field of the state there comes from.
package struct DeclaredTarget: Hashable, Sendable {
    /// Where a field's value comes from.
    package enum Source: Hashable, Sendable {
        /// It is written in the target.
        case literal(JSONValue)
        /// The event's field at that index.
        case event(Int)
        /// The left state's field at that index.
        case left(Int)
        /// The field's default.
        case fallback(JSONValue)
    }

    /// The state's number in ``Declaration/states``.
    package let state: Int

    /// For each field its sources, of which the first with a value counts; the last may lack a
    /// value only if the field may be absent.
    package let sources: [[Source]]
}

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
        /// What is left of the left state's own next time.
        case remaining
        /// The field's default.
        case fallback(JSONValue)
        /// The left state's field at that index, and an amount that is added, or taken away.
        indirect case step(Int, Source, isDown: Bool)
    }

    /// The state's number in ``Declaration/states``.
    package let state: Int

    /// For each field its sources, of which the first with a value counts; the last may lack a
    /// value only if the field may be absent.
    package let sources: [[Source]]

    /// The values that the file gives, as it has them: `tries+=1`.
    package let written: [String]

    /// Whether only the moment can tell if the values fit.
    let isDoubtful: Bool

    /// A step that may not fit its field, or have nothing to count, as the file has it; nil if there is none.
    let riskyStep: String?
}

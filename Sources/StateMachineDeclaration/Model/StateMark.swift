/// What a machine's file says of a state to whoever looks at many machines: `mark: good`.
package enum StateMark: String, CaseIterable, Sendable {
    case good
    case warn
    case bad

    /// Its colour in a picture, for what stands in a state's box.
    ///
    /// Light enough for black letters, and told apart by people who see no red or no green.
    var colour: String {
        switch self {
        case .good: "#C4E8DC"
        case .warn: "#FBD38A"
        case .bad: "#F2AE90"
        }
    }
}

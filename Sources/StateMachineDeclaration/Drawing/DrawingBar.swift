/// What keeps a state from being entered, or has a say before it is.
package enum DrawingBar: String, Sendable {
    /// Somebody holds it: entering it is denied, or waits.
    case held
    /// Somebody is asked first.
    case guarded

    /// The sign beside a name.
    var sign: String {
        switch self {
        case .held: "⊘"
        case .guarded: "?"
        }
    }
}

/// How states that an earlier version of the program has left go on in this one, in the words of a machine that a
/// file declares.
///
/// ```swift
/// static var upgrade: Upgrade<Kiosk> {
///     Upgrade(was: ["serving": ["open"], "serving.customers": ["guests"]], lost: .booting)
/// }
/// ```
public struct Upgrade<State: Sendable>: Sendable {
    /// What states and fields were called before, by what they are called now, as on the wire: a state by its name,
    /// a field as `state.field`.
    public let was: [String: [String]]

    /// Where to go at a start at which the state that was left is none any more, or its values do not fit; nil to
    /// refuse to start.
    public let lost: State?

    /// What goes on under another name, and what is to be done with the rest; nothing unless said.
    public init(was: [String: [String]] = [:], lost: State? = nil) {
        self.was = was
        self.lost = lost
    }
}

import StateMachineProtocol

/// How far a reader of a feed has come.
struct FeedPlace: Sendable {
    /// The number of the event that it reads next.
    var next: UInt64
    /// The last place in the daemon's numbering that it was given.
    var cursor: Cursor?
}

/// What a new reader gets.
enum FeedStart: Sendable {
    /// These events, and then what follows the place.
    case at(FeedPlace, [ServerEvent])
    /// What it has missed is no longer here; the daemon may have it, up to that number.
    case before(Cursor, upTo: UInt64)
    /// The state is not known yet; the events are sent meanwhile.
    case unknown([ServerEvent])
}

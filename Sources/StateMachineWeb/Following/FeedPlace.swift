import StateMachineProtocol

/// How far a reader of a feed is.
struct FeedPlace: Sendable {
    /// The number of the event that it reads next.
    var next: UInt64
    /// The last place in the daemon's numbering that it was told.
    var cursor: Cursor?
}

/// What a reader is told when it comes.
enum FeedStart: Sendable {
    /// That, and then what follows the place.
    case at(FeedPlace, [UInt8])
    /// What it has missed is no longer here; the daemon may have it, up to that number.
    case before(Cursor, upTo: UInt64)
    /// Nobody knows the state yet; that is told meanwhile.
    case unknown([UInt8])
}

/// What a reader is told that waits.
enum FeedNews: Sendable {
    case events
    /// Nothing has happened for a while.
    case beat
    /// There will be no more.
    case ended
}

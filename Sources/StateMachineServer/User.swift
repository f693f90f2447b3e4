import NIOCore

/// What the connections of one user take together.
///
/// Belongs to the event loop.
final class User {
    let uid: UInt32
    /// Whether it is held to what a user may take: root and the daemon's own user are not.
    let isLimited: Bool

    var connections = 0

    /// Those of its connections that wait for their turn.
    var waiting = CircularBuffer<Connection>()
    /// What time its turns have taken, in nanoseconds.
    var used: Int64 = 0

    /// Bytes of the requests that are kept for it.
    var keptBytes = 0
    /// Bytes that its connections have to be sent.
    @exclusivity(unchecked) var unsentBytes = 0

    init(_ uid: UInt32, isLimited: Bool) {
        self.uid = uid
        self.isLimited = isLimited
    }
}

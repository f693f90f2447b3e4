import NIOCore

/// What the connections of one user take together.
///
/// Belongs to the event loop; see ``StateServer`` for the exclusivity of its variables.
final class User {
    let uid: UInt32
    /// Whether it is held to what a user may take: root and the daemon's own user are not.
    let isLimited: Bool

    var connections = 0

    /// Those of its connections that wait for their turn.
    @exclusivity(unchecked) var waiting = CircularBuffer<Connection>()
    /// What time its turns have taken, in nanoseconds.
    @exclusivity(unchecked) var used: Int64 = 0

    /// Bytes of the requests that are kept for its connections.
    var requestBytes = 0
    /// Bytes that its clients have been answered and not been sent.
    @exclusivity(unchecked) var replyBytes = 0

    init(_ uid: UInt32, isLimited: Bool) {
        self.uid = uid
        self.isLimited = isLimited
    }

    /// Whether a request of so many bytes may be kept beside the others.
    func mayKeep(_ bytes: Int, within limits: ServerLimits) -> Bool {
        !self.isLimited || self.requestBytes + bytes <= limits.requestBytesPerUid
    }

    /// Whether a client may be answered before it has read what it was answered.
    func mayOwe(within limits: ServerLimits) -> Bool {
        !self.isLimited || self.replyBytes < limits.replyBytesPerUid
    }
}

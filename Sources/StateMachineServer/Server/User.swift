import NIOCore

/// One user, and what its connections use together.
///
/// Belongs to the event loop.
final class User {
    let uid: UInt32
    /// Whether per-user limits apply to it: to root and the daemon's own user they do not.
    let isLimited: Bool

    var connections = 0

    /// Its connections that wait for their turn.
    var waiting = CircularBuffer<Connection>()
    /// The time that its turns have taken, in nanoseconds.
    var used: Int64 = 0

    /// How long its readers may be written to out of turn, in nanoseconds, as of that time.
    private var urgency: (left: Int64, at: NIODeadline) = (0, .now())

    /// The part of the time for writing to a user's readers out of turn, and how much is saved up.
    ///
    /// It is for readers that would otherwise lose changes. A sixteenth: one reader of a million
    /// changes a second takes that, and eight users half of the time. 2 ms: half of the ring for
    /// ten readers.
    private static let urgentPart: Int64 = 16
    private static let urgentMost: Int64 = 2_000_000

    /// Bytes of the requests that are kept for its connections.
    var requestBytes = 0
    /// Patterns of its waits with `!`.
    var exceptingPatterns = 0
    /// Bytes of answers that its clients have not been sent yet.
    var replyBytes = 0

    init(_ uid: UInt32, isLimited: Bool) {
        self.uid = uid
        self.isLimited = isLimited
    }

    /// Writes to the user's readers out of turn, if there is time for that; returns whether it did.
    @discardableResult
    func urgently(_ body: () -> Void) -> Bool {
        guard self.isLimited else {
            body()
            return true
        }
        let now = NIODeadline.now()
        let earned = (now - self.urgency.at).nanoseconds / Self.urgentPart
        self.urgency = (min(self.urgency.left + earned, Self.urgentMost), now)
        guard self.urgency.left > 0 else { return false }
        body()
        self.urgency.left -= (NIODeadline.now() - now).nanoseconds
        return true
    }

    /// Whether a request of so many bytes may be kept in addition to the others.
    func mayKeep(_ bytes: Int, within limits: ServerLimits) -> Bool {
        !self.isLimited || self.requestBytes + bytes <= limits.requestBytesPerUid
    }

    /// Whether its waits with `!` may have so many more patterns.
    func mayExcept(_ patterns: Int) -> Bool {
        !self.isLimited || self.exceptingPatterns + patterns <= ServerLimits.exceptingPatternsPerUid
    }

    /// Whether a client may be answered before it has read its earlier answers.
    func mayOwe(within limits: ServerLimits) -> Bool {
        !self.isLimited || self.replyBytes < limits.replyBytesPerUid
    }
}

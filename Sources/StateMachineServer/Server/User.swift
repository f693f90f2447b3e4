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

    /// For how long its readers may be written to out of turn, in nanoseconds, as it was then.
    private var urgency: (left: Int64, at: NIODeadline) = (0, .now())

    /// What part of the time a user's readers may be written to out of turn, those that would lose changes
    /// otherwise, and how much of that is kept.
    ///
    /// A sixteenth: one reader of a million changes a second takes that, and eight users half of the time.
    /// 2 ms: half of the ring for ten readers.
    private static let urgentPart: Int64 = 16
    private static let urgentMost: Int64 = 2_000_000

    /// Bytes of the requests that are kept for its connections.
    var requestBytes = 0
    /// Patterns of its waits against which every change is held.
    var exceptingPatterns = 0
    /// Bytes that its clients have been answered and not been sent.
    @exclusivity(unchecked) var replyBytes = 0

    init(_ uid: UInt32, isLimited: Bool) {
        self.uid = uid
        self.isLimited = isLimited
    }

    /// Has something written to the user's readers out of turn, if there is time for that.
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

    /// Whether a request of so many bytes may be kept beside the others.
    func mayKeep(_ bytes: Int, within limits: ServerLimits) -> Bool {
        !self.isLimited || self.requestBytes + bytes <= limits.requestBytesPerUid
    }

    /// Whether every change may be held against so many patterns more.
    func mayExcept(_ patterns: Int) -> Bool {
        !self.isLimited || self.exceptingPatterns + patterns <= ServerLimits.exceptingPatternsPerUid
    }

    /// Whether a client may be answered before it has read what it was answered.
    func mayOwe(within limits: ServerLimits) -> Bool {
        !self.isLimited || self.replyBytes < limits.replyBytesPerUid
    }
}

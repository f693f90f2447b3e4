import StateMachineProtocol

/// Replies that are the same for everybody at one door, made once.
///
/// Belongs to the event loop.
struct PreparedReplies {
    private struct Key: Hashable {
        let door: Door
        let operation: Operation
    }

    private var replies: [Key: [UInt8]] = [:]

    /// The reply, which has no `id`.
    mutating func reply(
        to operation: Operation,
        at door: Door,
        making make: () -> [UInt8]
    ) -> [UInt8] {
        let key = Key(door: door, operation: operation)
        let reply = self.replies[key] ?? make()
        self.replies[key] = reply
        return reply
    }

    /// Drops all replies: what they say may have changed.
    mutating func forget() { self.replies = [:] }
}

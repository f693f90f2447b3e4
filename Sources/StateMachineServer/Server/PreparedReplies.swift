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

    /// What every reply begins with, before the request's `id`.
    private static let head = #"{"type":"reply""#.utf8.count

    /// The reply, with the request's `id`.
    mutating func reply(
        to operation: Operation,
        at door: Door,
        id: RequestID?,
        making make: () -> [UInt8]
    ) -> [UInt8] {
        let key = Key(door: door, operation: operation)
        let reply = self.replies[key] ?? make()
        self.replies[key] = reply
        guard let id else { return reply }
        let named = ChangeLine.head(id: id).dropFirst(ChangeLine.head.count)
        return Array(reply.prefix(Self.head) + named + reply.dropFirst(Self.head))
    }

    /// Drops all replies: what they say may have changed.
    mutating func forget() { self.replies = [:] }
}

import NIOCore
import StateMachineProtocol

/// Ends a connection: what stops with the client's side, and what a client that has to go is told.
///
/// The ``ConnectionLifecycle`` decides when. Belongs to the event loop.
struct Farewell {
    /// Why a client has to go.
    enum Reason {
        /// There is no place for it, because of that limit.
        case noPlace(limit: String, max: Int)
        /// It has sent a line that is too long.
        case tooLong
        /// The daemon is going down.
        case daemonEnds(ServerLine.ByeReason)

        /// The line that says so.
        var line: [UInt8] {
            switch self {
            case .noPlace(let limit, let places):
                ServerLine.bye(.limit) { writer in
                    writer.string("limit", limit)
                    writer.number("max", places)
                    writer.number("retryMs", 1000)
                }
            case .tooLong: ServerLine.bye(.tooLong) { $0.number("max", RequestLimits.lineBytes) }
            case .daemonEnds(let reason):
                ServerLine.bye(reason) { writer in
                    if reason == .restart { writer.number("retryMs", ServerLimits.retryMs) }
                }
            }
        }
    }

    private let parts: ConnectionParts

    init(_ parts: ConnectionParts) {
        self.parts = parts
    }

    /// Ends what lives as long as the client's side, once all that it sent has been dealt with.
    func endInput() {
        if self.parts.reader.hasBytes {
            let message = "the last line has no newline and was not carried out"
            self.parts.outbox.reply(ServerLine.refusal(id: nil, WireError(.badRequest, message)))
        }
        self.parts.subscriptions.endImplicit()
        self.parts.voters.end()
    }

    /// Queues the line that says why; closes the channel if the client is too slow to read it.
    func say(_ reason: Reason) {
        self.parts.reader.clear()
        self.parts.voters.end()
        self.parts.subscriptions.leavePast()
        self.parts.history.leavePast()
        self.parts.outbox.append(reason.line, replies: 0)
        self.parts.channel.eventLoop.assumeIsolated().scheduleTask(
            in: .milliseconds(self.parts.server.limits.farewellMs)
        ) { [weak parts = self.parts] in
            parts?.channel.close(promise: nil)
        }
    }
}

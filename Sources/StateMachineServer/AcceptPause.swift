import NIOCore

/// Lets a listener rest when it cannot accept, for lack of descriptors or memory: clients wait in its
/// backlog, nothing is polled in vain, and the listener stays.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = Channel

    /// How long, in milliseconds.
    ///
    /// 100: short enough that a client whose turn it is hardly notices, and ten tries a second cost
    /// nothing. Not tuned.
    private static var restMs: Int64 { 100 }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        self.setReading(false, of: channel)
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Self.restMs)) {
            self.setReading(true, of: channel)
        }
    }

    private func setReading(_ isReading: Bool, of channel: any Channel) {
        channel.setOption(.autoRead, value: isReading)
            .assumeIsolated()
            .whenFailure { _ in
                // The door is closed; there is nobody to be accepted any more.
            }
    }
}

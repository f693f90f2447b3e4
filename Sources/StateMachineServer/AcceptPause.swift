import NIOCore

/// Lets a listener rest when descriptors are scarce, or it cannot accept for lack of them or of memory:
/// clients wait in its backlog, nothing is polled in vain, and the listener stays.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = Channel

    /// How long, in milliseconds.
    ///
    /// 100: short enough that a client whose turn it is hardly notices, and ten tries a second cost
    /// nothing. Not tuned.
    private static var restMs: Int64 { 100 }

    private var isResting = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(data)
        if ResourceLimits.areDescriptorsScarce { self.rest(context.channel) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.rest(context.channel)
    }

    private func rest(_ channel: any Channel) {
        guard !self.isResting else { return }
        self.isResting = true
        self.setReading(false, of: channel)
        self.tryAgain(channel)
    }

    private func tryAgain(_ channel: any Channel) {
        channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Self.restMs)) {
            guard !ResourceLimits.areDescriptorsScarce else { return self.tryAgain(channel) }
            self.isResting = false
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

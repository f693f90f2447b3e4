import NIOCore

/// Pauses a listener: clients wait in its backlog, nothing is polled in vain, and it stays open.
///
/// It pauses when descriptors are scarce, when accepting fails for lack of them or of memory, and
/// when accepting takes more than its share of the time while others set.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = Channel

    /// How long it pauses if there are no descriptors.
    ///
    /// 100 ms: short enough that a client whose turn it is hardly notices, and ten tries a second cost
    /// nothing. Not tuned.
    private static var rest: TimeAmount { .milliseconds(100) }

    private let turns: Turns
    private var isResting = false

    init(turns: Turns) {
        self.turns = turns
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let start = NIODeadline.now()
        context.fireChannelRead(data)
        if ResourceLimits.areDescriptorsScarce {
            self.rest(context.channel, for: Self.rest)
        } else if let rest = self.turns.accepted(since: start) {
            self.rest(context.channel, for: rest)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.rest(context.channel, for: Self.rest)
    }

    private func rest(_ channel: any Channel, for time: TimeAmount) {
        guard !self.isResting else { return }
        self.isResting = true
        self.setReading(false, of: channel)
        self.tryAgain(channel, in: time)
    }

    private func tryAgain(_ channel: any Channel, in time: TimeAmount) {
        channel.eventLoop.assumeIsolated().scheduleTask(in: time) {
            guard !ResourceLimits.areDescriptorsScarce else {
                return self.tryAgain(channel, in: Self.rest)
            }
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

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

/// Finds the systemd unit that a process runs in from its control groups.
///
/// See cgroups(7), and systemd's "Control Group APIs and Delegation".
enum ControlGroup {
    /// Bytes that a unit may have here, including a user's manager before it.
    ///
    /// 320: a unit's name has 255 at most.
    static let unitBytes = 320

    private static let suffixes = [".service", ".scope", ".socket", ".mount", ".swap"]

    /// The unit of `0::/system.slice/deploy.service`, or of a user's manager, as in
    /// `user@1000.service/deploy.service`; nil if it is in none.
    ///
    /// For a container it is the unit that the container runs in; what is below is the container's
    /// own.
    static func unit(in groups: String) -> String? {
        let lines = groups.split(separator: "\n")
        let path =
            lines.first { $0.hasPrefix("0::") }?.dropFirst(3)
            ?? lines.first { $0.contains(":name=systemd:") }?.split(separator: ":").last
        guard let path else { return nil }
        // Seen from inside a container, paths outside it begin like this.
        var parts = path.split(separator: "/").drop { $0 == ".." }
        guard let unit = self.takeUnit(&parts) else { return nil }
        let isManager = unit.hasPrefix("user@") && unit.hasSuffix(".service")
        let own = isManager ? self.takeUnit(&parts) : nil
        let name = own.map { "\(unit)/\($0)" } ?? unit
        return name.utf8.count <= self.unitBytes ? name : nil
    }

    /// Takes the first part that is no slice, if it is a unit.
    private static func takeUnit(_ parts: inout ArraySlice<Substring>) -> String? {
        parts = parts.drop { $0.hasSuffix(".slice") }
        // This stands before a name that could be taken for one of the kernel's files.
        guard let part = parts.popFirst() else { return nil }
        let name = part.hasPrefix("_") ? part.dropFirst() : part
        return self.suffixes.contains { name.hasSuffix($0) } ? String(name) : nil
    }
}

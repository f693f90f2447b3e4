import NIOCore
import StateMachineProtocol

/// How it comes to its end; ``ConnectionLifecycle`` decides, this does it.
extension Connection {
    /// The client will send no more, and what it has sent was dealt with.
    func inputEnded() {
        switch self.lifecycle.inputEnded() {
        case .endImplicitWatch:
            if self.inbound.hasBytes {
                let message = "the last line has no newline and was not carried out"
                self.outbox.reply(ServerLine.refusal(id: nil, WireError(.badRequest, message)))
            }
            self.subscriptions.endImplicit()
            self.voters.end()
            self.pump()
        case .close:
            self.channel.close(promise: nil)
        case .ignore:
            break
        }
    }

    /// Says why, and closes when that has been written.
    func leave(_ reason: ServerLine.ByeReason, own: (inout LineWriter) -> Void = { _ in }) {
        switch self.lifecycle.leave() {
        case .sayBye:
            self.inbound.clear()
            self.voters.end()
            self.subscriptions.leavePast()
            self.history.leavePast()
            self.outbox.append(ServerLine.bye(reason, own: own), replies: 0)
            self.deferred = nil
            self.channel.eventLoop.assumeIsolated().scheduleTask(
                in: .milliseconds(self.server.limits.farewellMs)
            ) { [weak self] in
                self?.channel.close(promise: nil)
            }
        case .ignore:
            break
        }
    }

    /// A set was decided after others had their turn.
    func setWasDecided() {
        if self.isGone { self.turn.want() } else { self.server.answered(self) }
    }

    /// How soon a client may come back after a restart, in milliseconds.
    ///
    /// 200: what the unit waits before it starts the daemon anew (`RestartSec=`).
    static var retryMs: Int { 200 }

    /// Answers the waits and says goodbye.
    func shutDown(_ reason: ServerLine.ByeReason) {
        self.waits.shutDown()
        self.leave(reason) { writer in
            if reason == .restart { writer.number("retryMs", Self.retryMs) }
        }
        self.flush(isUrgent: true)
    }

    /// Closes if that was the last of it.
    func finish() {
        guard self.outbox.isEmpty else { return }
        let hasPending =
            self.subscriptions.count > 0 || self.waits.count > 0 || self.sets.count > 0
        switch self.lifecycle.flushed(hasPending: hasPending, hasSeenEOF: self.hasSeenEOF) {
        case .close: self.channel.close(promise: nil)
        case .linger: self.channel.close(mode: .output, promise: nil)
        case .ignore: break
        }
    }
}

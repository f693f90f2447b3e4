import NIOCore

/// Writes the output for one client, in order.
///
/// Watches come first, then replies: watches are brought up to the head of the ring, and the ring
/// up to the reply, so that a reply that carries a seq comes after every change up to it. Last
/// comes what nobody has asked for just now: questions, and then waits are judged.
///
/// Belongs to the event loop.
struct WritingOrder {
    private let parts: ConnectionParts
    private var outbox: Outbox { self.parts.outbox }

    init(_ parts: ConnectionParts) {
        self.parts = parts
    }

    /// Whether there may be something to write.
    var hasOutput: Bool {
        self.outbox.hasLines || self.parts.waits.areBehind || self.parts.subscriptions.isRunning
            || self.parts.voters.hasQuestions
    }

    /// How long waits are judged out of turn, where their client's changes are written out of turn.
    private static let urgentJudging = TimeAmount.microseconds(250)

    /// Writes what can be written now, as long as there is time.
    func write(_ haste: ConnectionTurn.Haste) {
        let turn = self.parts.turn
        switch haste {
        case .turn, .last: turn.write(haste) { self.writeAndJudge() }
        case .urgent:
            turn.write(haste) { self.write() }
            guard self.parts.waits.areBehind else { break }
            turn.write(.last(until: .now() + Self.urgentJudging)) { self.writeAndJudge() }
        }
        if self.outbox.isClosed { self.drop() }
    }

    /// Waits are judged also while the client does not read.
    private func writeAndJudge() {
        repeat {
            self.write()
        } while !self.parts.turn.isCutShort
            && self.parts.waits.judge(until: self.parts.server.limits.replyBytesPerConnection)
            && self.outbox.isFree
    }

    private func write() {
        while self.parts.channel.isActive, self.outbox.isFree {
            guard self.parts.subscriptions.write() else { return }
            // A reply comes after every change up to it.
            guard !self.parts.turn.isCutShort, !self.parts.subscriptions.isReadingPast else {
                return
            }
            guard self.parts.history.write() else { return }
            guard let seq = self.outbox.nextSeq else {
                self.parts.voters.writeQuestions()
                return
            }
            let head = self.parts.server.ring.head
            if seq > head {
                self.parts.server.catchUp()
                // If they are arriving right now, whoever delivers them writes this afterwards.
                guard self.parts.server.ring.head > head else { return }
                continue
            }
            switch self.outbox.nextMark {
            case .start(let watch): watch.start()
            case .end(let watch): self.parts.subscriptions.remove(watch)
            case .history, nil: break
            }
            guard self.outbox.writeNext() else { return }
            guard !self.outbox.hasSegments || !self.parts.turn.mustStop() else { return }
        }
    }

    /// Drops everything for the client, which no longer reads.
    ///
    /// The connection is not closed here: the client's input has yet to be dealt with, and its end
    /// has yet to be seen.
    func drop() {
        self.outbox.close()
        self.parts.subscriptions.drop()
        self.parts.waits.drop()
        self.parts.voters.end()
    }
}

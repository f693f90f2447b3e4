import NIOCore

/// What goes out to one client, and in which order.
///
/// Watches first, replies after them: so a reply that carries a seq comes after every change up to it, as the
/// watches are brought up to the head of the ring, and the ring up to the reply. Then what nobody has asked for
/// just now: waits that go on, questions.
///
/// Belongs to the event loop.
struct WritingOrder {
    let server: StateServer
    let channel: any Channel
    let turn: Turn
    let outbox: Outbox
    let subscriptions: Subscriptions
    let history: HistoryAnswers
    let waits: Waits
    let voters: Voters

    /// Whether there may be something to write.
    var hasOutput: Bool {
        self.outbox.hasLines || self.waits.haveEnded || self.subscriptions.isRunning
            || self.voters.hasQuestions
    }

    /// Writes all that can be written now.
    func write() {
        while self.channel.isActive, self.outbox.isFree {
            guard self.subscriptions.write() else { return }
            // A reply comes after every change up to it.
            guard !self.turn.isCutShort, !self.subscriptions.isReadingPast else { return }
            guard self.history.write() else { return }
            let limit = self.server.limits.replyBytesPerConnection
            if self.waits.haveEnded, self.outbox.owesLess(than: limit) {
                self.waits.answerEnded(until: limit)
                continue
            }
            guard let seq = self.outbox.nextSeq else {
                if self.waits.goOn() { continue }
                self.voters.writeQuestions()
                return
            }
            let head = self.server.ring.head
            if seq > head {
                self.server.catchUp()
                // If they are coming in right now, whoever brings them has this written afterwards.
                guard self.server.ring.head > head else { return }
                continue
            }
            switch self.outbox.nextMark {
            case .start(let watch): watch.start()
            case .end(let watch): self.subscriptions.remove(watch)
            case .history, nil: break
            }
            guard self.outbox.writeNext() else { return }
            guard !self.outbox.hasSegments || !self.turn.mustStop() else { return }
        }
    }

    /// Forgets all that is for the client, who reads no more.
    ///
    /// The connection is not closed here: what the client has sent is still to be dealt with, and its
    /// end is still to be seen.
    func drop() {
        self.outbox.close()
        self.subscriptions.drop()
        self.waits.drop()
        self.voters.end()
    }
}

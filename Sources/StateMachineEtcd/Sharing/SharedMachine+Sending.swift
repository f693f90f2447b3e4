#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What it sends, and what becomes of that.
extension SharedMachine {
    mutating func proceed() {
        guard self.isConnected else { return }
        if self.looks.areDue { self.sendLook() }
        guard self.errand == nil else { return }
        if let head = self.mirror.head, let revision = self.lastCommit.takeFence() {
            return self.send(.fence, self.keys.fence(head, over: revision))
        }
        guard self.isCurrent, self.lastCommit.isOver, let session else { return }
        if self.touches {
            self.touches = false
            return self.send(.touch, self.keys.touch(self.settings.host, lease: session))
        }
        guard self.freshness.reason == nil else { return }
        // Of the session that has ended, and has not been applied.
        if let pending = self.proposing.pending, !pending.group.voters.isEmpty,
            pending.session != session
        {
            self.answer(.failed(Freshness.Reason.session.sentence))
        }
        let queue = self.mirror.queue
        if !self.strays.isEmpty, queue.isOurTurn {
            let some = self.strays.prefix(self.settings.largestElection)
            let ends = Dictionary(uniqueKeysWithValues: some.map { ($0, [UInt8]?.none) })
            return self.commit(Group([], voters: ends, news: self.news), session, isAsked: false)
        }
        let overdue = self.mirror.unchanged(self.overdue.take() ?? [:])
            .prefix(self.settings.largestElection)
        if !overdue.isEmpty {
            let request = self.keys.remove(Array(overdue), seen: self.mirror.votersRevision)
            return self.send(.tidy, request)
        }
        switch self.proposing.next(queue) {
        case .put(let ticket):
            self.counts.tickets += 1
            self.send(.put(ticket), self.keys.put(ticket, lease: session))
        case .remove(let ticket, let created):
            self.send(.remove(ticket), self.keys.remove(ticket, created: created))
        case .commit(let group): self.commit(group, session, isAsked: true)
        case .arm(let timer, let time): self.actions.append(.arm(timer, time))
        case nil: break
        }
    }

    mutating func send(_ errand: Errand, _ request: TransactionRequest) {
        self.sent += 1
        self.errand = (self.sent, errand)
        self.actions.append(.send(self.sent, request))
    }

    private mutating func sendLook() {
        self.sent += 1
        let look = self.looks.begin(self.sent, knowing: self.memory)
        self.actions.append(.send(self.sent, self.keys.look(self.memory)))
        guard look.isCounted else { return }
        // Not all hosts at once: from nine tenths of the interval to all of it.
        let interval = self.settings.checkInterval * (0.9 + Double(self.chance % 1024) / 10_240)
        self.actions += [
            .arm(.stale(look: self.sent), self.settings.staleAfter), .arm(.check, interval),
        ]
    }

    private mutating func commit(_ group: Group, _ session: Int64, isAsked: Bool) {
        self.attempts += 1
        let author = Block.Author(self.settings.host, session: session, attempt: self.attempts)
        guard let commit = Commit(group, by: author, over: self.mirror, of: self.settings) else {
            return
        }
        if isAsked { self.proposing.sent() }
        self.lastCommit.sent(commit)
        self.send(.commit(commit), commit.request)
    }

    // MARK: - What was answered

    mutating func ended(_ number: UInt64, _ outcome: Outcome<TransactionRequest.Answer>) {
        if let look = self.looks.ended(number) { return self.looked(look, outcome) }
        guard let errand, errand.number == number else { return }
        self.errand = nil
        switch errand.what {
        case .commit(let commit): self.committed(commit, outcome)
        case .fence: self.fenced(outcome)
        case .begin, .restart:
            self.lookAgain()
        // Whatever has become of it, the watch shows what is gone.
        case .tidy: break
        case .put(let ticket):
            self.ticketed(outcome) { $0.put(ticket, at: $1) }
        case .remove(let ticket):
            self.ticketed(outcome) { $0.remove(ticket, at: $1) }
        case .touch:
            switch outcome {
            case .answered:
                self.tell(.trouble(.full, isThere: false))
                self.tell(.trouble(.permission, isThere: false))
            case .refused, .unknown: break
            }
        }
    }

    private mutating func ticketed(
        _ outcome: Outcome<TransactionRequest.Answer>,
        _ note: (inout TicketQueue, Int64) -> Void
    ) {
        switch outcome {
        case .answered(let answer) where answer.succeeded:
            note(&self.mirror.queue, answer.header.revision)
            self.mirror.reached(revision: answer.header.revision)
        case .answered: self.lookAgain()
        case .refused(let refusal): self.refused(refusal)
        case .unknown(let doubt):
            if doubt == .full { self.tell(.trouble(.full, isThere: true)) }
            self.lookAgain()
        }
    }

    /// What is there has to be read before anything is sent.
    private mutating func lookAgain() {
        self.isCurrent = false
        self.looks.want()
    }

    /// A change was surely not made: it is tried again once a look shows that it can be.
    private mutating func refused(_ refusal: Refusal) {
        switch refusal.kind {
        case .noLeader, .notSent, .compacted: self.lookAgain()
        case .leaseGone:
            if let session { self.lost(session) }
        case .permission:
            self.isCurrent = false
            self.tell(.trouble(.permission, isThere: true))
        // The next check looks.
        case .tooManyRequests, .tooLarge, .invalid: self.isCurrent = false
        }
    }

    private mutating func committed(_ commit: Commit, _ outcome: Outcome<TransactionRequest.Answer>)
    {
        switch outcome {
        case .answered(let answer) where answer.succeeded:
            self.lastCommit.settled()
            self.mirror.queue.win(at: answer.header.revision, putting: commit.swap)
            self.happened(commit, at: answer.header.revision)
        case .answered(let answer):
            self.lastCommit.settled()
            self.proposing.undone()
            if let reading = self.read(answer) {
                self.mirror.reached(revision: reading.revision)
                self.apply(reading, since: commit.knowing)
            }
        case .refused(let refusal):
            self.lastCommit.settled()
            self.proposing.undone()
            self.refused(refusal)
            if [.tooLarge, .invalid].contains(refusal.kind) {
                self.answer(.failed(refusal.description))
            }
        case .unknown(let doubt):
            self.lookAgain()
            self.lastCommit.lost(before: self.sent + 1, isFull: doubt == .full)
            if doubt == .full { self.tell(.trouble(.full, isThere: true)) }
        }
    }

    /// An own transaction was applied: at that revision, or that is known from a later look.
    mutating func happened(_ commit: Commit, at revision: Int64) {
        // Those that were there already somebody has.
        let unknown = commit.put.filter { !self.mirror.hasOwn($0) }
        self.tellVoters(self.mirror.committed(commit, at: revision, in: self.session))
        self.strays.subtract(commit.ended)
        let block = commit.block?.block
        if self.proposing.pending?.isSent == true {
            self.answer(.committed)
        } else {
            // Whoever asked for them was told that it is not known.
            if commit.session == self.session { self.strays.formUnion(unknown) }
            self.tellNews(Progress(block.map { [$0] } ?? [], renewing: commit.renewed))
        }
        if let block { self.tell(.reached(block.last)) }
    }

    private mutating func fenced(_ outcome: Outcome<TransactionRequest.Answer>) {
        if case .answered(let answer) = outcome, answer.succeeded {
            self.mirror.fenced(at: answer.header.revision)
            self.lastCommit.fenced()
            self.isCurrent = true
            // While it was unsure none was opened.
            if !self.watch.isOpen { self.looks.want() }
            return self.undone()
        }
        if case .unknown(.full) = outcome { self.tell(.trouble(.full, isThere: true)) }
        self.lookAgain()
        self.lastCommit.fenceFailed(before: self.sent + 1)
    }

    /// What was sent was not applied, nor will it be: it may be sent again, while somebody waits for it.
    mutating func undone() {
        self.proposing.undone()
        if let reason = self.freshness.reason { self.answer(.failed(reason.sentence)) }
    }
}
#endif

#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What looks and the watch show, and what is made of it.
extension SharedMachine {
    mutating func looked(_ look: Looks.Look, _ outcome: Outcome<TransactionRequest.Answer>) {
        switch outcome {
        case .answered(let answer):
            if let reading = self.read(answer) { self.hold(.look(look, reading)) }
        case .refused(let refusal):
            self.looks.didNotCount(look)
            switch refusal.kind {
            case .permission: self.tell(.trouble(.permission, isThere: true))
            case .tooManyRequests: break
            case .noLeader, .notSent, .compacted, .tooLarge, .leaseGone, .invalid:
                self.giveUp(refusal.description)
            }
        case .unknown(let doubt): self.giveUp(doubt.description)
        }
    }

    /// What an answer shows; nil if this program does not know it.
    mutating func read(_ answer: TransactionRequest.Answer) -> SharedReading? {
        do {
            let reading = try SharedReading(answer, of: self.keys)
            self.mirror.keep(reading.settings?.keepChanges ?? self.settings.keepChanges)
            self.oddities.note(reading, into: &self.actions)
            self.tell(.trouble(.layout, isThere: false))
            return reading
        } catch {
            self.isCurrent = false
            self.oddities.note(error, into: &self.actions)
            self.tell(.trouble(.layout, isThere: true))
            return nil
        }
    }

    mutating func hold(_ item: HeldNews.Item) {
        // Whatever becomes of it, the engine has been there.
        if let revision = item.revision { self.mirror.reached(revision: revision) }
        if self.held.add(item) { return }
        // What the watch has brought is read instead.
        self.watch.close()
        self.looks.want()
    }

    /// Whether what others have done may be told now: while a transaction is under way, its answer comes first.
    private var mayTell: Bool {
        switch self.errand?.what {
        case .commit, .fence: false
        case .begin, .restart, .put, .remove, .touch, .tidy, nil: true
        }
    }

    mutating func takeHeld() {
        while self.mayTell, let item = self.held.takeNext(isInDoubt: !self.lastCommit.isOver) {
            switch item {
            case .news(let news): self.take(news)
            case .look(let look, let reading): self.take(look, reading)
            }
        }
    }

    private mutating func take(_ look: Looks.Look, _ reading: SharedReading) {
        guard self.lastCommit.permits(look) else {
            self.looks.want()
            return self.looks.didNotCount(look)
        }
        guard self.apply(reading, since: look.knowing), let memory, let head = reading.head else {
            return self.looks.didNotCount(look)
        }
        if self.questions.looked(by: look.number) { self.looks.want() }
        if look.isCounted {
            self.watch.checked(reading.headRevision)
            self.tell(.seen(number: look.number, seq: head.seq, own: memory.seq))
        }
        guard self.lastCommit.isOver else { return }
        if !self.watch.isOpen, self.isConnected {
            let number = self.watch.open(behind: reading.revision)
            self.actions.append(
                .watch(number, from: reading.revision + 1, version: reading.headVersion)
            )
        }
        guard memory.seq >= head.seq else { return }
        let isFresh = self.freshness.reason == nil
        for id in self.questions.reached() where isFresh { self.actions.append(.fresh(id)) }
        if let pending = self.proposing.pending, pending.group.isEmpty {
            guard pending.look <= look.number else { return self.looks.want() }
            self.mirror.queue.confirm()
            self.answer(.committed)
            // Others wait for its ticket, if it has one.
            self.proposing.endPause()
        }
    }

    /// Takes over what a read shows that was begun when `known` was.
    ///
    /// - Returns: whether it is of the engine that is known.
    @discardableResult
    mutating func apply(_ reading: SharedReading, since known: Restoration.Memory?) -> Bool {
        guard let head = reading.head else {
            self.begin(reading)
            return false
        }
        guard let known, let memory else {
            if self.memory == nil {
                self.enter(head, .joined, reading)
            } else {
                self.looks.want()
            }
            return self.memory?.epoch == head.epoch
        }
        guard memory.epoch == known.epoch else {
            self.looks.want()
            return false
        }
        switch self.mirror.judge(head, reading, since: known) {
        case .elsewhere:
            self.enter(head, .restarted, reading)
            return true
        case .restored(let why):
            self.isCurrent = false
            self.oddities.note(lostChanges: why, into: &self.actions)
            if self.errand == nil {
                let epoch = Epoch(chance: self.chance)
                self.send(
                    .restart,
                    self.keys.restart(head, over: reading.headRevision, as: epoch, after: memory)
                )
            }
            return false
        case .same:
            if self.lastCommit.isUnsure { self.resolve(head, reading) }
            if self.lastCommit.isOver { self.comeUp(to: head, reading) }
            return true
        }
    }

    private mutating func begin(_ reading: SharedReading) {
        self.isCurrent = false
        if self.memory != nil {
            self.oddities.note(lostChanges: "its head is gone", into: &self.actions)
        }
        guard self.errand == nil else { return }
        let head = Head(
            Epoch(chance: self.chance),
            seq: 0,
            block: 0,
            last: self.settings.beginning,
            form: self.settings.form
        )
        let settings =
            reading.settings == nil ? SharedSettings(keepChanges: self.settings.keepChanges) : nil
        self.send(.begin, self.keys.begin(head, settings, after: self.memory?.epoch))
    }

    /// Says what has become of the transaction whose answer was lost.
    private mutating func resolve(_ head: Head, _ reading: SharedReading) {
        guard let memory, let trace = self.lastCommit.trace(in: reading, head) else { return }
        if trace == .pruned { self.answer(.unsure("the log no longer has what came next")) }
        let (resolution, looksAgain) = self.lastCommit.seen(
            isOurs: trace == .found,
            headRevision: reading.headRevision
        )
        if looksAgain { self.looks.want() }
        switch resolution {
        case .happened(let commit):
            self.mirror.queue.win(at: memory.revision, putting: nil)
            // Which head it was does not matter: what is there now is taken over next.
            self.happened(commit, at: self.mirror.headRevision)
        case .neverWill: self.undone()
        case .open: break
        }
    }

    private mutating func comeUp(to head: Head, _ reading: SharedReading) {
        guard let memory else { return }
        guard let news = self.mirror.comeUp(to: head, reading) else {
            return self.enter(head, .missed(head.seq - memory.seq), reading)
        }
        self.counts.caughtUp += news.progress.blocks.reduce(0) { $0 + UInt64($1.changes.count) }
        self.tell(news)
        self.isCurrent = self.mirror.isCurrent
        if !self.isCurrent { self.looks.want() }
    }

    /// Begins where the head is, without the changes that led there.
    private mutating func enter(_ head: Head, _ arrival: Arrival, _ reading: SharedReading) {
        let news: EngineMirror.News
        if arrival == .restarted { self.counts.epochs += 1 }
        if case .missed = arrival {
            news = self.mirror.enter(head, reading, isAnother: false)
        } else {
            news = self.mirror.enter(head, reading, isAnother: true)
            // What was sent went to another engine.
            self.watch.beginAgain()
            self.held.drop()
            self.tell(.beganAgain)
            if self.proposing.pending?.isSent == true {
                self.answer(.unsure("the engine was restored"))
            }
            self.lastCommit = LastCommit()
            self.oddities.beganAgain()
        }
        self.actions.append(.place(head, arrival))
        self.tellVoters(news)
        self.tellNews(Progress(), hasVoters: true)
        self.judgeOwn(news)
        self.isCurrent = true
        if case .missed = arrival { self.tell(.reached(head.seq)) }
    }

    // MARK: - What the watch brings

    private mutating func take(_ news: EngineWatch.News) {
        switch news {
        case .began, .alive: break
        case .ended:
            self.watch.close()
            self.looks.want()
        case .changed(let events, let through): self.follow(events, through)
        }
    }

    private mutating func follow(_ events: [WatchEvent], _ through: Int64) {
        guard self.memory != nil else { return }
        self.watch.came(through: through)
        guard let news = self.mirror.follow(events, through: through) else {
            self.counts.watchGaps += 1
            self.watch.close()
            self.looks.want()
            return
        }
        self.tell(news)
        // A later program's may be among them.
        if !self.mirror.isCurrent || news.hasSettings {
            self.isCurrent = false
            self.looks.want()
        }
    }
}

extension Epoch {
    /// One that chance has drawn.
    fileprivate init(chance: UInt64) {
        let digits = UInt32(truncatingIfNeeded: chance >> 16).digits(8, radix: 16)
        self = Epoch(digits) ?? .random()
    }
}
#endif

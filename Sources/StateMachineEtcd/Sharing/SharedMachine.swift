#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What one host makes of a machine that it shares with others: when it commits, what it takes over, and what it shows.
///
/// A value that decides and does nothing, and has no clock; ``SharedRecording`` performs it. Its parts are values as well: what is to be
/// committed (`Proposing`), what has become of that (`LastCommit`), what is read (`Looks`), what the engine has (`EngineMirror`), and whether
/// that is shown as it is (``Freshness``). At most one transaction that changes something is under way, and one look beside it.
package struct SharedMachine: Sendable {
    /// A transaction that changes something.
    enum Errand {
        case begin
        case restart
        case commit(Commit)
        case fence
        case put(SharedKeys.Ticket)
        case remove(SharedKeys.Ticket)
        case touch
        /// Deletes holds whose time is over.
        case tidy
    }

    private(set) var settings: Settings
    var keys: SharedKeys { self.settings.keys }

    var lastCommit = LastCommit()
    var freshness = Freshness()
    var mirror: EngineMirror

    var isConnected = false
    /// Whether a look on this connection has shown the engine that is known, and the host is where that is.
    var isCurrent = false
    var session: Int64?

    /// The number of what was sent last.
    var sent: UInt64 = 0
    var looks = Looks()
    var errand: (number: UInt64, what: Errand)?
    /// Own holds and guards in the engine that nobody has: they were put though nobody waited for them any longer, or are there again.
    var strays: Set<UInt64> = []
    /// Holds whose time is over, as they were when that was seen; nil: there are none.
    var overdue: [SharedKeys.Voter: [UInt8]]?
    var touches = false

    var watch = OpenWatch()
    var held = HeldNews()

    var proposing = Proposing()
    var attempts: UInt64
    var questions = FreshQuestions()

    var oddities = Oddities()
    var actions: [Action] = []
    /// Drawn for each event, for a pause or a new epoch.
    var chance: UInt64 = 0

    /// How often something of others' was told; a group says what it knew of.
    package internal(set) var news: UInt64 = 0

    /// What has happened so often; of connections and times it counts nothing.
    var counts = SharingCounts()

    /// What is to be remembered, once the changes that were told are.
    package var memory: Restoration.Memory? { self.mirror.memory }

    /// - Parameters:
    ///   - settings: which machine, and whose.
    ///   - memory: what was remembered in an earlier life.
    package init(_ settings: Settings, remembering memory: Restoration.Memory? = nil) {
        self.settings = settings
        self.attempts = settings.attempts
        self.mirror = EngineMirror(settings, remembering: memory)
    }

    /// The machine begins then, if it does: what was to be its beginning says another time.
    mutating func begins(at time: WallTime) {
        self.settings.beginning = self.settings.beginning.made(at: time)
    }

    package mutating func thisHappened(
        _ event: Event,
        using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        self.chance = generator.next()
        switch event {
        case .connected: self.connected()
        case .disconnected: self.disconnected()
        case .session(let session):
            if self.session != nil, session != self.session { self.endSession() }
            self.session = session
            self.tell(.trouble(.session, isThere: session == nil))
        case .proposed(let group): self.proposed(group)
        case .asked(let id):
            if let reason = self.freshness.reason {
                self.actions.append(.notFresh(id, reason))
            } else {
                self.questions.ask(id, before: self.sent + 1)
                self.looks.want()
            }
        case .ended(let number, let outcome): self.ended(number, outcome)
        case .watched(let number, let news):
            if number == self.watch.number { self.hold(.news(news)) }
        case .due(let timer): self.due(timer)
        case .trouble(let reason, let isThere): self.tell(.trouble(reason, isThere: isThere))
        case .tookOver(let numbers): self.mirror.takeOver(numbers)
        case .overdue(let voters): self.overdue = self.mirror.values(of: voters)
        }
        self.takeHeld()
        self.proceed()
        defer { self.actions = [] }
        return self.actions
    }

    // MARK: - Session, connection and time

    private mutating func endSession() {
        self.counts.sessionsLost += 1
        self.mirror.endSession()
        // They end with the session.
        self.strays = []
    }

    /// The engine shows that the session has ended.
    mutating func lost(_ session: Int64) {
        self.endSession()
        self.session = nil
        self.actions.append(.gone(lease: session))
        self.tell(.trouble(.session, isThere: true))
    }

    private mutating func connected() {
        self.isConnected = true
        self.isCurrent = false
        self.looks.wantCheck()
    }

    private mutating func disconnected() {
        (self.isConnected, self.isCurrent) = (false, false)
        self.looks.disconnected()
        self.lastCommit.disconnected()
        self.watch.close()
        // It is of the engine as it was; the next one may be another.
        self.held.drop()
    }

    mutating func giveUp(_ why: String) {
        guard self.isConnected else { return }
        self.disconnected()
        self.actions.append(.reconnect(why))
    }

    private mutating func due(_ timer: Timer) {
        switch timer {
        case .check:
            self.looks.wantCheck()
            self.touches = [.full, .permission].contains(self.freshness.reason)
        case .stale(let look): self.tell(.due(number: look))
        case .group(let number):
            guard self.proposing.awaits(number) else { return }
            let why = "the engine has not committed it within \(self.settings.setTimeout)"
            self.answer(self.proposing.isWaiting ? .failed(why) : .unsure(why))
        case .pause: self.proposing.endPause()
        case .orphan:
            guard let orphan = self.proposing.takeOrphan(self.mirror.queue) else { return }
            if self.errand == nil, self.isCurrent, self.proposing.pending != nil {
                self.send(
                    .remove(orphan.ticket),
                    self.keys.remove(orphan.ticket, created: orphan.created)
                )
            }
        }
    }

    /// Tells whether the host is fresh, if that has changed; when it is not, nobody waits who has sent nothing.
    mutating func tell(_ event: Freshness.Event) {
        let good = self.freshness.good
        if let news = self.freshness.thisHappened(event) { self.actions.append(.tell(news)) }
        // Whoever sees where the machine is by then sees how old that is.
        if self.freshness.good != good {
            self.actions.insert(.reached(look: self.freshness.good), at: 0)
        }
        guard let reason = self.freshness.reason else { return }
        if self.proposing.isWaiting { self.answer(.failed(reason.sentence)) }
        self.actions += self.questions.drop().map { .notFresh($0, reason) }
    }

    // MARK: - What is proposed

    private mutating func proposed(_ group: Group) {
        let pending = self.proposing.begin(group, before: self.sent + 1, in: self.session)
        if let reason = self.freshness.reason { return self.answer(.failed(reason.sentence)) }
        guard group.news == self.news else { return self.answer(.overtaken(Progress())) }
        self.actions.append(.arm(.group(pending.number), self.settings.setTimeout))
        if group.isEmpty { self.looks.want() }
    }

    mutating func answer(_ answer: Answer) {
        guard self.proposing.pending != nil else { return }
        switch answer {
        case .overtaken: self.counts.overtaken += 1
        case .unsure: self.counts.unsure += 1
        case .committed, .failed: break
        }
        self.actions += self.proposing.answer(answer)
    }

    /// Tells what others have done: a group that waits is judged again behind it.
    mutating func tell(_ news: EngineMirror.News) {
        self.tellVoters(news)
        self.tellNews(news.progress, hasVoters: news.hasVoters)
        // Whoever hears that all is well has what led there.
        if !news.progress.blocks.isEmpty, let seq = self.memory?.seq { self.tell(.reached(seq)) }
        self.judgeOwn(news)
    }

    /// Sees whether what this host holds is there, and nothing else.
    ///
    /// An engine that was restored may have again what has ended, and there may be nothing else to tell that it was.
    mutating func judgeOwn(_ news: EngineMirror.News) {
        guard let session else { return }
        self.strays.formUnion(news.strays)
        if news.lacksOwn { self.lost(session) }
    }

    mutating func tellVoters(_ news: EngineMirror.News) {
        if news.hasVoters { self.actions.append(.voters(put: news.put, gone: news.gone)) }
    }

    mutating func tellNews(_ progress: Progress, hasVoters: Bool = false) {
        guard !progress.isEmpty || hasVoters else { return }
        self.news += 1
        if self.proposing.isWaiting {
            self.mirror.queue.lose()
            self.answer(.overtaken(progress))
        } else if !progress.isEmpty {
            self.actions.append(.adopt(progress))
        }
    }
}
#endif

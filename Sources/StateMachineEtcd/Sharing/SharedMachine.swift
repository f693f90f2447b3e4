#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What one host makes of a machine that it shares with others: when it commits, what it takes over, and what it shows.
///
/// A value that decides and does nothing, and has no clock; ``SharedRecording`` performs it. Its parts, ``Fence``, ``Freshness``,
/// ``Restoration`` and ``TicketQueue``, are values as well. At most one transaction that changes something is under way, and one that
/// only reads, a *look*, beside it: from looks all is learned that the watch has not brought.
package struct SharedMachine: Sendable {
    /// How long a host keeps a ticket without proposing anything.
    ///
    /// 20 ms: a client that sets again as soon as it is answered takes one or two.
    private static let pause = Duration.milliseconds(20)
    /// How long a ticket may be the next without a commit.
    ///
    /// A second: slower than a slow commit, faster than a session's end.
    private static let orphanAge = Duration.seconds(1)
    /// What may wait for the answer of a transaction.
    ///
    /// What it holds up is read again if there is more. Not tuned.
    private static let heldLimit = 256

    private struct Pending {
        let number: UInt64
        let group: Group
        /// The first look that was begun after it came.
        let look: UInt64
        /// What it puts is held by that one alone.
        let session: Int64?
        var isSent = false
    }

    /// A transaction that changes something.
    private enum Errand {
        case begin
        case restart
        case commit(Commit)
        case fence
        case put(SharedKeys.Ticket)
        case remove(SharedKeys.Ticket)
        case touch
    }

    private struct Look {
        let number: UInt64
        let knowing: Restoration.Memory?
        let isCounted: Bool
    }

    private enum Held {
        case news(EngineWatch.News)
        case look(Look, SharedReading)

        var isLook: Bool {
            switch self {
            case .look: true
            case .news: false
            }
        }
    }

    private let settings: Settings
    private var keys: SharedKeys { self.settings.keys }

    private var fence = Fence()
    private var freshness = Freshness()
    private var mirror: EngineMirror

    private var isConnected = false
    /// Whether a look on this connection has shown the engine that is known, and the host is where that is.
    private var isCurrent = false
    private var session: Int64?

    /// The number of what was sent last.
    private var sent: UInt64 = 0
    private var look: Look?
    private var wantsLook = false
    /// Whether the next look is one that freshness counts from.
    private var isCheckDue = true
    private var errand: (number: UInt64, what: Errand)?
    /// The commit that the fence is about.
    private var doubted: Commit?
    /// The first look that was begun after its answer was lost.
    private var doubtedLook: UInt64 = 0
    /// Own holds and guards in the engine that nobody has: they were put though nobody waited for them any longer, or are there again.
    private var strays: Set<UInt64> = []
    private var fenceAt: Int64?
    private var touches = false

    private var watch = OpenWatch()
    private var held: [Held] = []

    private var pending: Pending?
    private var groups: UInt64 = 0
    private var attempts: UInt64
    private var isPausing = false
    private var orphan: (ticket: SharedKeys.Ticket, created: Int64)?
    private var questions = FreshQuestions()

    private var oddities = Oddities()
    private var actions: [Action] = []
    /// Drawn for each event, for a pause or a new epoch.
    private var chance: UInt64 = 0

    /// How often something of others' was told; a group says what it knew of.
    package private(set) var news: UInt64 = 0

    /// What has happened so often; of connections and times it counts nothing.
    private(set) var counts = SharingCounts()

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
                self.wantsLook = true
            }
        case .ended(let number, let outcome): self.ended(number, outcome)
        case .watched(let number, let news):
            if number == self.watch.number { self.hold(.news(news)) }
        case .due(let timer): self.due(timer)
        case .trouble(let reason, let isThere): self.tell(.trouble(reason, isThere: isThere))
        case .tookOver(let numbers): self.mirror.takeOver(numbers)
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
    private mutating func lost(_ session: Int64) {
        self.endSession()
        self.session = nil
        self.actions.append(.gone(lease: session))
        self.tell(.trouble(.session, isThere: true))
    }

    private mutating func connected() {
        self.isConnected = true
        self.isCurrent = false
        self.isCheckDue = true
        self.wantsLook = true
    }

    private mutating func disconnected() {
        (self.isConnected, self.isCurrent) = (false, false)
        (self.look, self.fenceAt) = (nil, nil)
        self.watch.close()
        // It is of the engine as it was; the next one may be another.
        self.held = []
    }

    private mutating func giveUp(_ why: String) {
        guard self.isConnected else { return }
        self.disconnected()
        self.actions.append(.reconnect(why))
    }

    private mutating func due(_ timer: Timer) {
        switch timer {
        case .check:
            (self.isCheckDue, self.wantsLook) = (true, true)
            self.touches = [.full, .permission].contains(self.freshness.reason)
        case .stale(let look): self.tell(.due(number: look))
        case .group(let number):
            guard let pending, pending.number == number else { return }
            let why = "the engine has not committed it within \(self.settings.setTimeout)"
            self.answer(pending.isSent ? .unsure(why) : .failed(why))
        case .pause: self.isPausing = false
        case .orphan:
            guard let orphan, let head = self.mirror.queue.head, orphan == head else { return }
            self.orphan = nil
            if self.errand == nil, self.isCurrent, self.pending != nil {
                self.send(
                    .remove(orphan.ticket),
                    self.keys.remove(orphan.ticket, created: orphan.created)
                )
            }
        }
    }

    /// Tells whether the host is fresh, if that has changed; when it is not, nobody waits who has sent nothing.
    private mutating func tell(_ event: Freshness.Event) {
        if let news = self.freshness.thisHappened(event) { self.actions.append(.tell(news)) }
        guard let reason = self.freshness.reason else { return }
        if let pending, !pending.isSent { self.answer(.failed(reason.sentence)) }
        self.actions += self.questions.drop().map { .notFresh($0, reason) }
    }

    // MARK: - What is proposed

    private mutating func proposed(_ group: Group) {
        self.groups += 1
        self.isPausing = false
        self.pending = Pending(
            number: self.groups,
            group: group,
            look: self.sent + 1,
            session: self.session
        )
        if let reason = self.freshness.reason { return self.answer(.failed(reason.sentence)) }
        guard group.news == self.news else { return self.answer(.overtaken([])) }
        self.actions.append(.arm(.group(self.groups), self.settings.setTimeout))
        if group.isEmpty { self.wantsLook = true }
    }

    private mutating func answer(_ answer: Answer) {
        guard let pending else { return }
        switch answer {
        case .overtaken: self.counts.overtaken += 1
        case .unsure: self.counts.unsure += 1
        case .committed, .failed: break
        }
        self.pending = nil
        self.orphan = nil
        self.isPausing = true
        self.actions += [
            .answer(answer), .disarm(.group(pending.number)), .arm(.pause, Self.pause),
        ]
    }

    /// Tells what others have done: a group that waits is judged again behind it.
    private mutating func tell(_ news: EngineMirror.News) {
        self.tellVoters(news)
        self.tellNews(news.blocks, hasVoters: news.hasVoters)
        // Whoever hears that all is well has what led there.
        if !news.blocks.isEmpty, let seq = self.memory?.seq { self.tell(.reached(seq)) }
        self.judgeOwn(news)
    }

    /// Sees whether what this host holds is there, and nothing else.
    ///
    /// An engine that was restored may have again what has ended, and there may be nothing else to tell that it was.
    private mutating func judgeOwn(_ news: EngineMirror.News) {
        guard let session else { return }
        self.strays.formUnion(news.strays)
        if news.lacksOwn { self.lost(session) }
    }

    private mutating func tellVoters(_ news: EngineMirror.News) {
        if news.hasVoters { self.actions.append(.voters(put: news.put, gone: news.gone)) }
    }

    private mutating func tellNews(_ blocks: [Block], hasVoters: Bool = false) {
        guard !blocks.isEmpty || hasVoters else { return }
        self.news += 1
        if let pending, !pending.isSent {
            self.mirror.queue.lose()
            self.answer(.overtaken(blocks))
        } else if !blocks.isEmpty {
            self.actions.append(.adopt(blocks))
        }
    }

    // MARK: - What is sent

    private mutating func proceed() {
        guard self.isConnected else { return }
        if self.look == nil, self.wantsLook { self.sendLook() }
        guard self.errand == nil else { return }
        if let revision = self.fenceAt, let head = self.mirror.head {
            self.fenceAt = nil
            _ = self.fence.thisHappened(.fencing)
            return self.send(.fence, self.keys.fence(head, over: revision))
        }
        guard self.isCurrent, self.fence.isClear, let session else { return }
        if self.touches {
            self.touches = false
            return self.send(.touch, self.keys.touch(self.settings.host, lease: session))
        }
        guard self.freshness.reason == nil else { return }
        // Of the session that has ended, and has not been applied.
        if let pending, !pending.group.voters.isEmpty, pending.session != session {
            self.answer(.failed(Freshness.Reason.session.sentence))
        }
        let queue = self.mirror.queue
        if !self.strays.isEmpty, queue.isOurTurn {
            let ends = Dictionary(uniqueKeysWithValues: self.strays.map { ($0, [UInt8]?.none) })
            return self.commit(Group([], voters: ends, news: self.news), session, isAsked: false)
        }
        if let pending {
            if pending.group.isEmpty ? queue.needsQuiet : queue.needsTicket {
                self.counts.tickets += 1
                self.send(.put(queue.free), self.keys.put(queue.free, lease: session))
            } else if pending.group.isEmpty {
                // The look answers it.
                return
            } else if queue.isOurTurn {
                self.commit(pending.group, session, isAsked: true)
            } else if let head = queue.head, self.orphan.map({ $0 != head }) ?? true {
                self.orphan = head
                self.actions.append(.arm(.orphan, Self.orphanAge))
            }
        } else if let own = queue.own, !self.isPausing {
            self.send(.remove(own.ticket), self.keys.remove(own.ticket, created: own.created))
        }
    }

    private mutating func send(_ errand: Errand, _ request: TransactionRequest) {
        self.sent += 1
        self.errand = (self.sent, errand)
        self.actions.append(.send(self.sent, request))
    }

    private mutating func sendLook() {
        self.sent += 1
        self.wantsLook = false
        self.look = Look(number: self.sent, knowing: self.memory, isCounted: self.isCheckDue)
        self.actions.append(.send(self.sent, self.keys.look(self.memory)))
        guard self.isCheckDue else { return }
        self.isCheckDue = false
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
        if isAsked { self.pending?.isSent = true }
        self.doubted = commit
        _ = self.fence.thisHappened(.sent(headRevision: commit.headRevision))
        self.send(.commit(commit), commit.request)
    }

    // MARK: - What was answered

    private mutating func ended(_ number: UInt64, _ outcome: Outcome<TransactionRequest.Answer>) {
        if let look, look.number == number {
            self.look = nil
            return self.looked(look, outcome)
        }
        guard let errand, errand.number == number else { return }
        self.errand = nil
        switch errand.what {
        case .commit(let commit): self.committed(commit, outcome)
        case .fence: self.fenced(outcome)
        case .begin, .restart:
            self.isCurrent = false
            self.wantsLook = true
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
        case .answered: (self.isCurrent, self.wantsLook) = (false, true)
        case .refused(let refusal): self.refused(refusal)
        case .unknown(let doubt):
            if doubt == .full { self.tell(.trouble(.full, isThere: true)) }
            self.isCurrent = false
            self.wantsLook = true
        }
    }

    /// A change was surely not made: it is tried again once a look shows that it can be.
    private mutating func refused(_ refusal: Refusal) {
        switch refusal.kind {
        case .noLeader, .notSent, .compacted: (self.isCurrent, self.wantsLook) = (false, true)
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
            _ = self.fence.thisHappened(.settled)
            self.mirror.queue.win(at: answer.header.revision, putting: commit.swap)
            self.happened(commit, at: answer.header.revision)
        case .answered(let answer):
            _ = self.fence.thisHappened(.settled)
            self.pending?.isSent = false
            if let reading = self.read(answer) {
                self.mirror.reached(revision: reading.revision)
                self.apply(reading, since: commit.knowing)
            }
        case .refused(let refusal):
            _ = self.fence.thisHappened(.settled)
            self.pending?.isSent = false
            self.refused(refusal)
            if [.tooLarge, .invalid].contains(refusal.kind) {
                self.answer(.failed(refusal.description))
            }
        case .unknown(let doubt):
            self.isCurrent = false
            self.wantsLook = true
            self.doubtedLook = self.sent + 1
            _ = self.fence.thisHappened(doubt == .full ? .lostAtLimit : .lost)
            if doubt == .full { self.tell(.trouble(.full, isThere: true)) }
        }
    }

    /// An own transaction was applied: at that revision, or that is known from a later look.
    private mutating func happened(_ commit: Commit, at revision: Int64) {
        self.tellVoters(self.mirror.committed(commit, at: revision, in: self.session))
        self.strays.subtract(commit.ended)
        let block = commit.block?.block
        if self.pending?.isSent == true {
            self.answer(.committed)
        } else {
            // Whoever asked for them was told that it is not known.
            if commit.session == self.session { self.strays.formUnion(commit.put) }
            if let block { self.tellNews([block]) }
        }
        if let block { self.tell(.reached(block.last)) }
    }

    private mutating func fenced(_ outcome: Outcome<TransactionRequest.Answer>) {
        if case .answered(let answer) = outcome, answer.succeeded {
            self.mirror.fenced(at: answer.header.revision)
            _ = self.fence.thisHappened(.fenced)
            self.isCurrent = true
            // While it was unsure none was opened.
            if !self.watch.isOpen { self.wantsLook = true }
            return self.undone()
        }
        if case .unknown(.full) = outcome { self.tell(.trouble(.full, isThere: true)) }
        self.doubtedLook = self.sent + 1
        self.isCurrent = false
        self.wantsLook = true
        _ = self.fence.thisHappened(.fenceFailed)
    }

    /// What was sent was not applied, nor will it be: it may be sent again, while somebody waits for it.
    private mutating func undone() {
        self.doubted = nil
        self.pending?.isSent = false
        if let reason = self.freshness.reason { self.answer(.failed(reason.sentence)) }
    }

    // MARK: - What was seen

    private mutating func looked(_ look: Look, _ outcome: Outcome<TransactionRequest.Answer>) {
        switch outcome {
        case .answered(let answer):
            if let reading = self.read(answer) { self.hold(.look(look, reading)) }
        case .refused(let refusal):
            self.isCheckDue = self.isCheckDue || look.isCounted
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
    private mutating func read(_ answer: TransactionRequest.Answer) -> SharedReading? {
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

    private mutating func hold(_ held: Held) {
        // Whatever becomes of it, the engine has been there.
        switch held {
        case .look(_, let reading): self.mirror.reached(revision: reading.revision)
        case .news(.changed(_, let through)): self.mirror.reached(revision: through)
        case .news(.began), .news(.alive), .news(.ended): break
        }
        if self.held.count < Self.heldLimit { return self.held.append(held) }
        // What the watch has brought is read instead.
        self.held = []
        self.watch.close()
        self.wantsLook = true
    }

    /// Whether what others have done may be told now: while a transaction is under way, its answer comes first.
    private var mayTell: Bool {
        switch self.errand?.what {
        case .commit, .fence: false
        case .begin, .restart, .put, .remove, .touch, nil: true
        }
    }

    private mutating func takeHeld() {
        while self.mayTell {
            let isClear = self.fence.isClear
            guard let index = self.held.firstIndex(where: { isClear || $0.isLook }) else { return }
            switch self.held.remove(at: index) {
            case .news(let news): self.take(news)
            case .look(let look, let reading): self.take(look, reading)
            }
        }
    }

    private mutating func take(_ look: Look, _ reading: SharedReading) {
        if self.fence.isUnsure, look.number < self.doubtedLook {
            (self.wantsLook, self.isCheckDue) = (true, self.isCheckDue || look.isCounted)
            return
        }
        guard self.apply(reading, since: look.knowing), let memory, let head = reading.head else {
            if look.isCounted { self.isCheckDue = true }
            return
        }
        if self.questions.looked(by: look.number) { self.wantsLook = true }
        if look.isCounted {
            self.watch.checked(reading.headRevision)
            self.tell(.seen(number: look.number, seq: head.seq, own: memory.seq))
        }
        guard self.fence.isClear else { return }
        if !self.watch.isOpen, self.isConnected {
            let number = self.watch.open(behind: reading.revision)
            self.actions.append(
                .watch(number, from: reading.revision + 1, version: reading.headVersion)
            )
        }
        guard memory.seq >= head.seq else { return }
        let isFresh = self.freshness.reason == nil
        for id in self.questions.reached() where isFresh { self.actions.append(.fresh(id)) }
        if let pending, pending.group.isEmpty {
            guard pending.look <= look.number else {
                self.wantsLook = true
                return
            }
            self.mirror.queue.confirm()
            self.answer(.committed)
            // Others wait for its ticket, if it has one.
            self.isPausing = false
        }
    }

    /// Takes over what a read shows that was begun when `known` was.
    ///
    /// - Returns: whether it is of the engine that is known.
    @discardableResult
    private mutating func apply(_ reading: SharedReading, since known: Restoration.Memory?) -> Bool
    {
        guard let head = reading.head else {
            self.begin(reading)
            return false
        }
        guard let known, let memory else {
            if self.memory == nil {
                self.enter(head, .joined, reading)
            } else {
                self.wantsLook = true
            }
            return self.memory?.epoch == head.epoch
        }
        guard memory.epoch == known.epoch else {
            self.wantsLook = true
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
            if self.fence.isUnsure { self.resolve(head, reading) }
            if self.fence.isClear { self.comeUp(to: head, reading) }
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
        self.send(.begin, self.keys.begin(head, settings))
    }

    /// Says what has become of the transaction whose answer was lost.
    private mutating func resolve(_ head: Head, _ reading: SharedReading) {
        guard let doubted, let memory else { return }
        let trace = doubted.trace(in: reading, head)
        if trace == .pruned { self.answer(.unsure("the log no longer has what came next")) }
        let event = Fence.Event.seen(isOurs: trace == .found, headRevision: reading.headRevision)
        switch self.fence.thisHappened(event) {
        case .happened:
            self.doubted = nil
            self.mirror.queue.win(at: memory.revision, putting: nil)
            // Which head it was does not matter: what is there now is taken over next.
            self.happened(doubted, at: self.mirror.headRevision)
        case .neverWill: self.undone()
        case .fence(let revision):
            self.fenceAt = revision
        case .look, nil: self.wantsLook = true
        }
    }

    private mutating func comeUp(to head: Head, _ reading: SharedReading) {
        guard let memory else { return }
        guard let news = self.mirror.comeUp(to: head, reading) else {
            return self.enter(head, .missed(head.seq - memory.seq), reading)
        }
        self.counts.caughtUp += news.blocks.reduce(0) { $0 + UInt64($1.changes.count) }
        self.tell(news)
        self.isCurrent = self.mirror.isCurrent
        if !self.isCurrent { self.wantsLook = true }
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
            self.held = []
            self.tell(.beganAgain)
            if self.pending?.isSent == true { self.answer(.unsure("the engine was restored")) }
            self.fence = Fence()
            (self.fenceAt, self.doubted) = (nil, nil)
            self.oddities.beganAgain()
        }
        self.actions.append(.place(head, arrival))
        self.tellVoters(news)
        self.tellNews([], hasVoters: true)
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
            self.wantsLook = true
        case .changed(let events, let through): self.follow(events, through)
        }
    }

    private mutating func follow(_ events: [WatchEvent], _ through: Int64) {
        guard self.memory != nil else { return }
        self.watch.came(through: through)
        guard let news = self.mirror.follow(events, through: through) else {
            self.counts.watchGaps += 1
            self.watch.close()
            self.wantsLook = true
            return
        }
        self.tell(news)
        if !self.mirror.isCurrent {
            self.isCurrent = false
            self.wantsLook = true
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

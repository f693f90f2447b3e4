#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What one host makes of a machine that it shares with others: when it commits, what it takes over, and what it shows.
///
/// A value that decides and does nothing, and has no clock; ``SharedRecording`` performs it. Its parts, ``Fence``, ``Freshness``,
/// ``Restoration`` and ``TicketQueue``, are values as well. At most one transaction that changes something is under way, and one that
/// only reads, a *look*, beside it: from looks all is learned that the watch has not brought.
package struct SharedMachine: Sendable {
    package struct Settings: Sendable {
        package var keys: SharedKeys
        package var host: String
        /// The state that the first host begins with.
        package var beginning: SharedChange
        package var form: String
        /// Changes that the log keeps, where the engine does not say it.
        package var keepChanges: UInt64 = 10_000
        /// Changes that a group has at most.
        package var largestGroup: UInt64 = 1024
        /// How many blocks are committed until the log is pruned.
        package var pruneEvery: UInt64 = 256
        package var checkInterval = Duration.seconds(1)
        package var staleAfter = Duration.seconds(3)
        package var setTimeout = Duration.seconds(5)

        package init(_ keys: SharedKeys, host: String, beginning: SharedChange, form: String) {
            (self.keys, self.host, self.beginning, self.form) = (keys, host, beginning, form)
        }
    }

    /// What is to be committed at once, as it was judged.
    package struct Group: Hashable, Sendable {
        package var changes: [SharedChange]
        /// Own holds and guards by number; nil: it ends.
        package var voters: [UInt64: [UInt8]?]
        /// ``SharedMachine/news`` when it was judged: it is judged again if there is more by now.
        package var news: UInt64

        package init(_ changes: [SharedChange], voters: [UInt64: [UInt8]?] = [:], news: UInt64) {
            (self.changes, self.voters, self.news) = (changes, voters, news)
        }

        /// Whether it only asks whether what was judged is still so.
        var isEmpty: Bool { self.changes.isEmpty && self.voters.isEmpty }
    }

    /// What has become of a group: `Recorded`, in the form that the engine has it.
    package enum Answer: Hashable, Sendable {
        case committed
        case failed(String)
        /// These are entered, and all that was told before this; then it is judged again.
        case overtaken([Block])
        case unsure(String)
    }

    /// How a host comes to be where the head is, without the changes that led there.
    package enum Arrival: Hashable, Sendable {
        case joined
        /// Those changes are no longer in the log.
        case missed(UInt64)
        /// There is a new epoch.
        case restarted
    }

    package enum Timer: Hashable, Sendable {
        case check
        case stale(look: UInt64)
        case group(UInt64)
        /// The ticket of a host that proposes nothing more.
        case pause
        /// The ticket of a host that may be gone.
        case orphan
    }

    package enum Event: Sendable {
        /// A quorum can be asked from now on.
        case connected
        case disconnected
        /// The lease; nil if there is none.
        case session(Int64?)
        /// Asks for it to be committed; one at a time.
        case proposed(Group)
        /// Asks whether the host is where a quorum is, from now on.
        case asked(UInt64)
        /// What has become of what was sent; comes for each, once, in whatever connection.
        case ended(UInt64, Outcome<TransactionRequest.Answer>)
        case watched(UInt64, EngineWatch.News)
        case due(Timer)
        /// Trouble that others see: certificate, form.
        case trouble(Freshness.Reason, isThere: Bool)
    }

    package enum Action: Hashable, Sendable {
        case send(UInt64, TransactionRequest)
        /// In place of the one before; `version`: what the head's was.
        case watch(UInt64, from: Int64, version: Int64)
        /// The connection is of no use.
        case reconnect(String)
        case answer(Answer)
        case adopt([Block])
        case place(Head, Arrival)
        /// Holds and guards of other hosts.
        case voters(put: [SharedKeys.Voter: [UInt8]], gone: Set<SharedKeys.Voter>)
        /// The host has come up to where a quorum was after it was asked.
        case fresh(UInt64)
        case notFresh(UInt64, Freshness.Reason)
        case tell(Freshness.News)
        case arm(Timer, Duration)
        case disarm(Timer)
    }

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

    private struct Commit {
        let head: Head
        let author: Block.Author
        let block: Block?
        let mark: Restoration.Mark?
        let voters: [UInt64: [UInt8]?]
        let swap: SharedKeys.Ticket?
        let knowing: Restoration.Memory
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
    private var restoration: Restoration
    private var queue: TicketQueue

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
    private var fenceAt: Int64?
    private var touches = false

    /// As it is in the engine; nil until it was seen.
    ///
    /// Its seq is the own one, or this host has to come up to it.
    private var head: Head?
    private var headRevision: Int64 = 0
    private var headVersion: Int64 = 0
    /// All that happened up to that revision was seen.
    private var seen: Int64 = 0
    /// No voter of another host is newer that this host has not seen.
    private var votersRevision: Int64 = 0
    private var voters: [SharedKeys.Voter: [UInt8]] = [:]
    private var keepChanges: UInt64

    /// The number of the watch that is open; nil if none is.
    private var watch: UInt64?
    private var watches: UInt64 = 0
    /// What the last check has shown, and the watch then has to have brought by the next one.
    private var owed: Int64 = 0
    private var watchedThrough: Int64 = 0
    private var held: [Held] = []

    private var pending: Pending?
    private var groups: UInt64 = 0
    private var attempts: UInt64 = 0
    private var isPausing = false
    private var orphan: (ticket: SharedKeys.Ticket, created: Int64)?
    private var asked: [(id: UInt64, look: UInt64)] = []
    /// Those whose look was answered, and where that was.
    private var answered: [(id: UInt64, seq: UInt64)] = []

    private var actions: [Action] = []
    /// Drawn for each event, for a pause or a new epoch.
    private var chance: UInt64 = 0

    /// How often something of others' was told; a group says what it knew of.
    package private(set) var news: UInt64 = 0

    /// What is to be remembered, once the changes that were told are.
    package var memory: Restoration.Memory? {
        guard var memory = self.restoration.memory else { return nil }
        memory.head = max(memory.head, self.headRevision)
        return memory
    }
    package var isFresh: Bool { self.freshness.reason == nil }

    /// - Parameters:
    ///   - settings: which machine, and whose.
    ///   - memory: what was remembered in an earlier life.
    package init(_ settings: Settings, remembering memory: Restoration.Memory? = nil) {
        self.settings = settings
        self.restoration = Restoration(memory)
        self.queue = TicketQueue(host: settings.host)
        self.keepChanges = settings.keepChanges
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
            self.session = session
            self.tell(.trouble(.session, isThere: session == nil))
        case .proposed(let group): self.proposed(group)
        case .asked(let id):
            if let reason = self.freshness.reason {
                self.actions.append(.notFresh(id, reason))
            } else {
                self.asked.append((id, self.sent + 1))
                self.wantsLook = true
            }
        case .ended(let number, let outcome): self.ended(number, outcome)
        case .watched(let number, let news):
            if number == self.watch { self.hold(.news(news)) }
        case .due(let timer): self.due(timer)
        case .trouble(let reason, let isThere): self.tell(.trouble(reason, isThere: isThere))
        }
        self.takeHeld()
        self.proceed()
        defer { self.actions = [] }
        return self.actions
    }

    // MARK: - Connection and time

    private mutating func connected() {
        self.isConnected = true
        self.isCurrent = false
        self.isCheckDue = true
        self.wantsLook = true
    }

    private mutating func disconnected() {
        (self.isConnected, self.isCurrent) = (false, false)
        (self.look, self.watch, self.fenceAt) = (nil, nil, nil)
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
            guard let orphan, let head = self.queue.head, orphan == head else { return }
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
        if let pending, !pending.isSent { self.answer(.failed(Self.refusal(reason))) }
        for id in self.asked.map(\.id) + self.answered.map(\.id) {
            self.actions.append(.notFresh(id, reason))
        }
        (self.asked, self.answered) = ([], [])
    }

    private static func refusal(_ reason: Freshness.Reason) -> String {
        switch reason {
        case .layout: "the engine has the machine in a layout of a later program; upgrade this one"
        case .form: "the machine is in a state that this host's file does not have"
        case .certificate: "the engine does not take the certificate"
        case .permission: "the engine does not permit it"
        case .engine: "no quorum of the engine can be reached"
        case .full: "the engine is full"
        case .session: "there is no session with the engine"
        }
    }

    // MARK: - What is proposed

    private mutating func proposed(_ group: Group) {
        self.groups += 1
        self.isPausing = false
        self.pending = Pending(number: self.groups, group: group, look: self.sent + 1)
        if let reason = self.freshness.reason { return self.answer(.failed(Self.refusal(reason))) }
        guard group.news == self.news else { return self.answer(.overtaken([])) }
        self.actions.append(.arm(.group(self.groups), self.settings.setTimeout))
        if group.isEmpty { self.wantsLook = true }
    }

    private mutating func answer(_ answer: Answer) {
        guard let pending else { return }
        self.pending = nil
        self.orphan = nil
        self.isPausing = true
        self.actions += [
            .answer(answer), .disarm(.group(pending.number)), .arm(.pause, Self.pause),
        ]
    }

    /// Tells what others have done: a group that waits is judged again behind it.
    private mutating func tellNews(_ blocks: [Block], hasVoters: Bool = false) {
        guard !blocks.isEmpty || hasVoters else { return }
        self.news += 1
        if let pending, !pending.isSent {
            self.queue.lose()
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
        if let revision = self.fenceAt, let head {
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
        if let pending {
            if pending.group.isEmpty ? self.queue.needsQuiet : self.queue.needsTicket {
                self.send(.put(self.queue.free), self.keys.put(self.queue.free, lease: session))
            } else if pending.group.isEmpty {
                // The look answers it.
                return
            } else if self.queue.isOurTurn {
                self.commit(pending.group, session)
            } else if let head = self.queue.head, self.orphan.map({ $0 != head }) ?? true {
                self.orphan = head
                self.actions.append(.arm(.orphan, Self.orphanAge))
            }
        } else if let own = self.queue.own, !self.isPausing {
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

    private mutating func commit(_ group: Group, _ session: Int64) {
        guard let memory, var head, let last = group.changes.last ?? self.head?.last else { return }
        self.attempts += 1
        self.pending?.isSent = true
        let author = Block.Author(self.settings.host, session: session, attempt: self.attempts)
        var operations: [TransactionRequest.Operation] = []
        var block: Block?
        var mark: Restoration.Mark?
        if !group.changes.isEmpty {
            let new = Block(first: head.seq + 1, by: author, group.changes)
            let bytes = new.bytes
            operations.append(
                .put(PutRequest(self.keys.block(head.epoch, first: new.first), bytes))
            )
            (block, mark) = (new, Restoration.Mark(new.first, bytes))
            (head.seq, head.block, head.last) = (new.last, head.block + 1, last)
            head.form = self.settings.form
            if head.block % self.settings.pruneEvery == 0, let pruning = self.pruning(head) {
                operations.append(pruning)
            }
        }
        for (number, value) in group.voters.sorted(by: { $0.key < $1.key }) {
            let key = self.keys.voter(SharedKeys.Voter(self.settings.host, number))
            operations.append(
                value.map { .put(PutRequest(key, $0, lease: session)) }
                    ?? .delete(DeleteRequest(KeyRange(key)))
            )
        }
        let own = self.queue.own
        let swap = self.queue.swap
        if let own {
            operations.append(.delete(DeleteRequest(KeyRange(self.keys.ticket(own.ticket)))))
        }
        if let swap {
            operations.append(
                .put(PutRequest(self.keys.ticket(swap), Array("{}".utf8), lease: session))
            )
        }
        let commit = Commit(
            head: head,
            author: author,
            block: block,
            mark: mark,
            voters: group.voters,
            swap: swap,
            knowing: memory
        )
        _ = self.fence.thisHappened(.sent(headRevision: self.headRevision))
        self.doubted = commit
        self.send(
            .commit(commit),
            self.keys.commit(
                head,
                over: self.headRevision,
                voters: self.votersRevision,
                ticket: own?.created,
                operations,
                knowing: memory
            )
        )
    }

    /// Deletes blocks that nobody needs: which ones end there is not known, but not how long they can be.
    private func pruning(_ head: Head) -> TransactionRequest.Operation? {
        let kept = self.keepChanges + self.settings.largestGroup
        guard head.seq >= kept else { return nil }
        return .delete(DeleteRequest(self.keys.blocks(of: head.epoch, before: head.seq - kept + 2)))
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
            note(&self.queue, answer.header.revision)
            self.restoration.reached(revision: answer.header.revision)
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
            self.session = nil
            self.tell(.trouble(.session, isThere: true))
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
            self.queue.win(at: answer.header.revision, putting: commit.swap)
            self.happened(commit, at: answer.header.revision)
        case .answered(let answer):
            _ = self.fence.thisHappened(.settled)
            self.pending?.isSent = false
            if let reading = self.read(answer) {
                self.restoration.reached(revision: reading.revision)
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
        (self.head, self.headRevision) = (commit.head, revision)
        self.headVersion += 1
        self.votersRevision = max(self.votersRevision, revision)
        self.restoration.reached(revision: revision)
        if let block = commit.block, let mark = commit.mark { self.reach(block.last, mark) }
        if self.pending?.isSent == true {
            self.answer(.committed)
        } else if let block = commit.block {
            self.tellNews([block])
        }
    }

    private mutating func reach(_ seq: UInt64, _ mark: Restoration.Mark) {
        self.restoration.reached(seq, mark)
        self.tell(.reached(seq))
    }

    private mutating func fenced(_ outcome: Outcome<TransactionRequest.Answer>) {
        if case .answered(let answer) = outcome, answer.succeeded {
            self.headRevision = answer.header.revision
            self.headVersion += 1
            self.restoration.reached(revision: answer.header.revision)
            _ = self.fence.thisHappened(.fenced)
            self.isCurrent = true
            // While it was unsure none was opened.
            if self.watch == nil { self.wantsLook = true }
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
        if let reason = self.freshness.reason { self.answer(.failed(Self.refusal(reason))) }
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
            let layout = reading.settings?.layout ?? SharedSettings.newestLayout
            self.keepChanges = reading.settings?.keepChanges ?? self.settings.keepChanges
            self.tell(.trouble(.layout, isThere: layout > SharedSettings.newestLayout))
            guard layout <= SharedSettings.newestLayout else {
                self.isCurrent = false
                return nil
            }
            return reading
        } catch {
            self.isCurrent = false
            self.tell(.trouble(.layout, isThere: true))
            return nil
        }
    }

    private mutating func hold(_ held: Held) {
        // Whatever becomes of it, the engine has been there.
        switch held {
        case .look(_, let reading): self.restoration.reached(revision: reading.revision)
        case .news(.changed(_, let through)): self.restoration.reached(revision: through)
        case .news(.began), .news(.alive), .news(.ended): break
        }
        if self.held.count < Self.heldLimit { return self.held.append(held) }
        // What the watch has brought is read instead.
        (self.held, self.watch) = ([], nil)
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
        // Those that came later need another one.
        self.answered += self.asked.filter { $0.look <= look.number }.map { ($0.id, head.seq) }
        self.asked.removeAll { $0.look <= look.number }
        if !self.asked.isEmpty { self.wantsLook = true }
        if look.isCounted {
            if self.watch != nil, self.watchedThrough < self.owed { self.watch = nil }
            self.owed = reading.headRevision
            self.tell(.seen(number: look.number, seq: head.seq, own: memory.seq))
        }
        guard self.fence.isClear else { return }
        if self.watch == nil, self.isConnected { self.openWatch(behind: reading) }
        guard memory.seq >= head.seq else { return }
        for (id, _) in self.answered where self.freshness.reason == nil {
            self.actions.append(.fresh(id))
        }
        self.answered = []
        if let pending, pending.group.isEmpty {
            guard pending.look <= look.number else {
                self.wantsLook = true
                return
            }
            self.queue.confirm()
            self.answer(.committed)
            // Others wait for its ticket, if it has one.
            self.isPausing = false
        }
    }

    private mutating func openWatch(behind reading: SharedReading) {
        self.watches += 1
        self.watch = self.watches
        self.watchedThrough = reading.revision
        self.actions.append(
            .watch(self.watches, from: reading.revision + 1, version: reading.headVersion)
        )
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
        let seen = Restoration.Seen(
            revision: reading.revision,
            head: reading.headRevision,
            head.epoch,
            seq: head.seq,
            block: reading.blocks.first?.mark,
            kept: self.keepChanges
        )
        switch Restoration.judge(seen, since: known) {
        case .elsewhere:
            self.enter(head, .restarted, reading)
            return true
        case .restored:
            self.isCurrent = false
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
        let isOurs: Bool
        if let block = doubted.block {
            let found = reading.found(block.first)
            isOurs = found?.block?.author == doubted.author
            if found == nil, head.seq >= block.first {
                // Pruned since: nobody can tell.
                self.answer(.unsure("the log no longer has what came next"))
            }
        } else {
            isOurs = doubted.voters.allSatisfy { number, value in
                reading.voters[SharedKeys.Voter(self.settings.host, number)] == value
            }
        }
        switch self.fence.thisHappened(.seen(isOurs: isOurs, headRevision: reading.headRevision)) {
        case .happened:
            self.doubted = nil
            self.queue.win(at: memory.revision, putting: nil)
            // Which head it was does not matter: what is there now is taken over next.
            self.happened(doubted, at: self.headRevision)
        case .neverWill: self.undone()
        case .fence(let revision):
            self.fenceAt = revision
        case .look, nil: self.wantsLook = true
        }
    }

    /// Takes over the blocks behind the own place, then voters and tickets.
    private mutating func comeUp(to head: Head, _ reading: SharedReading) {
        guard let memory else { return }
        let blocks = self.reachBlocks(reading.blocks)
        // All that was read may be known already, if more was left out.
        let hasNext =
            !reading.hasMoreBlocks || reading.blocks.contains { $0.mark.first > memory.seq }
        if blocks.isEmpty, head.seq > memory.seq, hasNext {
            return self.enter(head, .missed(head.seq - memory.seq), reading)
        }
        let hasVoters = self.takeAll(reading)
        self.tellNews(blocks, hasVoters: hasVoters)
        if reading.headRevision > self.headRevision || self.head == nil {
            (self.head, self.headRevision, self.headVersion) = (
                head, reading.headRevision, reading.headVersion
            )
        }
        self.isCurrent = self.memory?.seq == self.head?.seq
        if !self.isCurrent { self.wantsLook = true }
    }

    /// Goes on to the end of those that follow without a gap, and returns them.
    private mutating func reachBlocks(_ found: [SharedReading.Found]) -> [Block] {
        var blocks: [Block] = []
        for found in found {
            guard let seq = self.memory?.seq, found.mark.first > seq else { continue }
            guard found.mark.first == seq + 1, let block = found.block else { break }
            self.reach(block.last, found.mark)
            blocks.append(block)
        }
        return blocks
    }

    /// Takes voters and tickets as a read shows them, if nothing newer is known; returns whether other hosts' voters are others now.
    private mutating func takeAll(_ reading: SharedReading) -> Bool {
        guard reading.revision >= self.seen else { return false }
        self.seen = reading.revision
        self.votersRevision = max(self.votersRevision, reading.revision)
        self.queue.seen(reading.tickets, at: reading.revision)
        let foreign = reading.voters.filter { $0.key.host != self.settings.host }
        let put = foreign.filter { self.voters[$0.key] != $0.value }
        let gone = Set(self.voters.keys.filter { foreign[$0] == nil })
        self.voters = foreign
        guard !put.isEmpty || !gone.isEmpty else { return false }
        self.actions.append(.voters(put: put, gone: gone))
        return true
    }

    /// Begins where the head is, without the changes that led there.
    private mutating func enter(_ head: Head, _ arrival: Arrival, _ reading: SharedReading) {
        self.restoration.begin(
            Restoration.Memory(
                head.epoch,
                after: head.earlier,
                seq: head.seq,
                revision: reading.revision
            )
        )
        (self.head, self.headRevision, self.headVersion) = (
            head, reading.headRevision, reading.headVersion
        )
        if case .missed = arrival {
            self.tell(.reached(head.seq))
        } else {
            // Revisions begin again, so nothing that was seen counts; and what was sent went to another engine.
            (self.seen, self.votersRevision, self.owed) = (0, 0, 0)
            self.queue.begin(reading.tickets)
            (self.watch, self.held) = (nil, [])
            self.tell(.beganAgain)
            if self.pending?.isSent == true { self.answer(.unsure("the engine was restored")) }
            self.fence = Fence()
            (self.fenceAt, self.doubted) = (nil, nil)
        }
        self.actions.append(.place(head, arrival))
        _ = self.takeAll(reading)
        self.tellNews([], hasVoters: true)
        self.isCurrent = true
    }

    // MARK: - What the watch brings

    private mutating func take(_ news: EngineWatch.News) {
        switch news {
        case .began, .alive: break
        case .ended:
            self.watch = nil
            self.wantsLook = true
        case .changed(let events, let through): self.follow(events, through)
        }
    }

    private mutating func follow(_ events: [WatchEvent], _ through: Int64) {
        guard let memory else { return }
        self.watchedThrough = through
        var found: [SharedReading.Found] = []
        var newest: (head: Head, entry: KeyValue)?
        var put: [SharedKeys.Voter: [UInt8]] = [:]
        var gone: Set<SharedKeys.Voter> = []
        for event in events where event.entry.modRevision > self.seen {
            let entry = event.entry
            switch self.keys.subject(of: entry.key) {
            case .head:
                // One that cannot be read, and a deleted one, are seen by a look.
                guard !event.isDeletion, let head = try? Head(reading: entry.value),
                    head.epoch == memory.epoch
                else {
                    (self.watch, self.wantsLook) = (nil, true)
                    return
                }
                newest = (head, entry)
            case .block(memory.epoch, let first) where !event.isDeletion:
                let mark = Restoration.Mark(first, entry.value)
                found.append(SharedReading.Found(mark: mark, block: Block(at: first, entry.value)))
            case .voter(let voter) where voter.host != self.settings.host:
                if event.isDeletion {
                    put[voter] = nil
                    gone.insert(voter)
                } else {
                    put[voter] = entry.value
                    gone.remove(voter)
                }
            case .ticket(let ticket):
                let created = event.isDeletion ? nil : entry.createRevision
                self.queue.seen(ticket, created: created, at: entry.modRevision)
            case .block, .voter, .host, .settings, nil: break
            }
        }
        let blocks = self.reachBlocks(found)
        gone.formIntersection(self.voters.keys)
        self.voters.merge(put) { $1 }
        for voter in gone { self.voters[voter] = nil }
        if !put.isEmpty || !gone.isEmpty { self.actions.append(.voters(put: put, gone: gone)) }
        self.tellNews(blocks, hasVoters: !put.isEmpty || !gone.isEmpty)
        self.seen = max(self.seen, through)
        self.votersRevision = max(self.votersRevision, through)
        if let newest, newest.entry.modRevision > self.headRevision {
            (self.head, self.headRevision) = (newest.head, newest.entry.modRevision)
            self.headVersion = newest.entry.version
        }
        if self.head?.seq != self.memory?.seq {
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

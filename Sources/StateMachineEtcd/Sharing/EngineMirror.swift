#if Cluster
import StateMachineProtocol

/// What a host knows of the machine in the engine: from what it has read, what the watch has brought, and what it has sent itself.
///
/// A value that decides and does nothing. What is older than what is known changes nothing.
struct EngineMirror: Sendable {
    /// What others have done.
    struct News {
        fileprivate(set) var progress = SharedMachine.Progress()
        /// Holds and guards of other hosts, and those of this one that outlive its session.
        fileprivate(set) var put: [SharedKeys.Voter: [UInt8]] = [:]
        fileprivate(set) var gone: Set<SharedKeys.Voter> = []
        /// Whether what all hosts go by is another, which a look shows.
        fileprivate(set) var hasSettings = false
        /// Whether a hold or guard of this host's own is no longer there, which it has not ended.
        fileprivate(set) var lacksOwn = false
        /// Holds and guards of a session of this host that it has not put, or has ended.
        fileprivate(set) var strays: Set<UInt64> = []

        var hasVoters: Bool { !self.put.isEmpty || !self.gone.isEmpty }
    }

    private let host: String
    private let keys: SharedKeys

    /// As it is in the engine; nil until it was seen.
    ///
    /// Its seq is the own one, or this host has to come up to it.
    private(set) var head: Head?
    private(set) var headRevision: Int64 = 0
    private(set) var headVersion: Int64 = 0
    /// What was told of the last change; nil: nothing yet.
    private var told: SharedChange?
    /// All that happened up to that revision was seen.
    private var seen: Int64 = 0
    /// No voter of another host is newer that this host has not seen.
    private(set) var votersRevision: Int64 = 0
    private var voters: [SharedKeys.Voter: [UInt8]] = [:]
    /// Own holds that outlive sessions, and the revisions at which this host has put or ended them: what is older of them is passed over.
    private var lasting: [UInt64: Int64] = [:]
    /// Holds and guards that this host has put in its session, and the revisions from which on they are there.
    private var own: [UInt64: Int64] = [:]
    private var restoration: Restoration
    var queue: TicketQueue
    /// Changes that the log keeps at least.
    private(set) var keepChanges: UInt64

    init(_ settings: SharedMachine.Settings, remembering memory: Restoration.Memory?) {
        (self.host, self.keys) = (settings.host, settings.keys)
        self.restoration = Restoration(memory)
        self.queue = TicketQueue(host: settings.host)
        self.keepChanges = settings.keepChanges
    }

    /// Where the host is, and what it knows the engine by.
    var memory: Restoration.Memory? {
        guard var memory = self.restoration.memory else { return nil }
        memory.head = max(memory.head, self.headRevision)
        return memory
    }

    /// Whether the host is where the head is.
    var isCurrent: Bool { self.restoration.memory?.seq == self.head?.seq }

    mutating func keep(_ changes: UInt64) { self.keepChanges = changes }

    /// Notes that the engine has been at that revision.
    mutating func reached(revision: Int64) { self.restoration.reached(revision: revision) }

    // MARK: - What was sent

    /// Whether this host holds that, and it is there.
    func hasOwn(_ number: UInt64) -> Bool { self.own[number] != nil }

    /// Those of the holds and guards of which each is what it was.
    func unchanged(_ voters: [SharedKeys.Voter: [UInt8]]) -> [SharedKeys.Voter] {
        voters.filter { self.voters[$0.key] == $0.value }.map(\.key)
    }

    /// What these are now; those that are not there are left out.
    func values(of voters: Set<SharedKeys.Voter>) -> [SharedKeys.Voter: [UInt8]] {
        self.voters.filter { voters.contains($0.key) }
    }

    /// The session has ended, and with it what it held.
    mutating func endSession() { self.own = [:] }

    /// These are of the session that begins.
    mutating func takeOver(_ numbers: Set<UInt64>) {
        for number in numbers { self.own[number] = self.restoration.memory?.revision ?? 0 }
    }

    /// An own commit was applied at that revision; what it put counts if it did so in this session.
    ///
    /// - Returns: what it has changed of that which all hosts go by.
    mutating func committed(_ commit: Commit, at revision: Int64, in session: Int64?) -> News {
        (self.head, self.headRevision) = (commit.head, revision)
        (self.told, self.headVersion) = (commit.head.last, self.headVersion + 1)
        self.votersRevision = max(self.votersRevision, revision)
        self.restoration.reached(revision: revision)
        if let block = commit.block { self.restoration.reached(block.block.last, block.mark) }
        for number in commit.put where commit.session == session { self.own[number] = revision }
        var news = News()
        for number in commit.ended {
            self.own[number] = nil
            let voter = SharedKeys.Voter(self.host, number)
            guard self.voters.removeValue(forKey: voter) != nil else { continue }
            self.lasting[number] = revision
            news.gone.insert(voter)
        }
        for (number, value) in commit.lasting {
            let voter = SharedKeys.Voter(self.host, number)
            (self.voters[voter], self.lasting[number]) = (value, revision)
            news.put[voter] = value
        }
        return news
    }

    /// Whether what happened to that one at that revision is known better.
    private func isOld(_ voter: SharedKeys.Voter, _ revision: Int64) -> Bool {
        voter.host == self.host && revision <= self.lasting[voter.number] ?? 0
    }

    /// The head was put as it was.
    mutating func fenced(at revision: Int64) {
        self.headRevision = revision
        self.headVersion += 1
        self.restoration.reached(revision: revision)
    }

    // MARK: - What was read

    /// What a read shows of the engine that was begun when `known` was.
    func judge(
        _ head: Head,
        _ reading: SharedReading,
        since known: Restoration.Memory
    ) -> Restoration.Judgement {
        let seen = Restoration.Seen(
            revision: reading.revision,
            head: reading.headRevision,
            head.epoch,
            seq: head.seq,
            block: reading.blocks.first?.mark,
            kept: self.keepChanges
        )
        return Restoration.judge(seen, since: known)
    }

    /// Takes over the blocks behind the own place, then voters and tickets; nil if changes are missing that are no longer there.
    mutating func comeUp(to head: Head, _ reading: SharedReading) -> News? {
        guard let memory else { return News() }
        var news = News()
        news.progress.blocks = self.reachBlocks(reading.blocks)
        // All that was read may be known already, if more was left out.
        let hasNext =
            !reading.hasMoreBlocks || reading.blocks.contains { $0.mark.first > memory.seq }
        if news.progress.blocks.isEmpty, head.seq > memory.seq, hasNext { return nil }
        self.takeAll(reading, into: &news)
        if reading.headRevision > self.headRevision || self.head == nil {
            self.take(head, reading)
        }
        news.progress.renewed = self.takeRenewal()
        return news
    }

    /// Begins where the head is, without the changes that led there; with `isAnother` in another engine than was known.
    mutating func enter(_ head: Head, _ reading: SharedReading, isAnother: Bool) -> News {
        // Whoever began the epoch need not have known all that have ended.
        let known = self.restoration.memory.map { $0.earlier + [$0.epoch] } ?? []
        self.restoration.begin(
            Restoration.Memory(
                head.epoch,
                after: Head.ended(head.earlier, and: known.filter { $0 != head.epoch }),
                seq: head.seq,
                revision: reading.revision
            )
        )
        self.take(head, reading)
        self.told = head.last
        if isAnother {
            // Revisions begin again, so nothing that was seen counts.
            (self.seen, self.votersRevision) = (0, 0)
            self.own = self.own.mapValues { _ in 0 }
            self.lasting = [:]
            self.queue.begin(reading.tickets)
        }
        var news = News()
        self.takeAll(reading, into: &news)
        return news
    }

    private mutating func take(_ head: Head, _ reading: SharedReading) {
        (self.head, self.headRevision, self.headVersion) = (
            head, reading.headRevision, reading.headVersion
        )
    }

    /// Goes on to the end of those that follow without a gap, and returns them.
    private mutating func reachBlocks(_ found: [SharedReading.Found]) -> [Block] {
        var blocks: [Block] = []
        for found in found {
            guard let seq = self.memory?.seq, found.mark.first > seq else { continue }
            guard found.mark.first == seq + 1, let block = found.block else { break }
            self.restoration.reached(block.last, found.mark)
            blocks.append(block)
        }
        self.told = blocks.last?.changes.last ?? self.told
        return blocks
    }

    /// What the head says of the last change, if that was not told.
    ///
    /// A head that is put as it is says nothing new.
    private mutating func takeRenewal() -> SharedChange? {
        guard self.isCurrent, let last = self.head?.last, last != self.told else { return nil }
        self.told = last
        return last
    }

    /// Takes voters and tickets as a read shows them, if nothing newer is known.
    private mutating func takeAll(_ reading: SharedReading, into news: inout News) {
        guard reading.revision >= self.seen else { return }
        self.seen = reading.revision
        if reading.revision >= self.votersRevision {
            let own = reading.leased.filter { $0.host == self.host }.map(\.number)
            news.strays = Set(own).subtracting(self.own.keys)
        }
        self.votersRevision = max(self.votersRevision, reading.revision)
        self.queue.seen(reading.tickets, at: reading.revision)
        // Own ones that are leased belong to the session; of the others what this host has done itself may be newer than the reading.
        var foreign = reading.voters.filter { voter, _ in
            (voter.host != self.host || !reading.leased.contains(voter))
                && !self.isOld(voter, reading.revision + 1)
        }
        for (voter, value) in self.voters where self.isOld(voter, reading.revision + 1) {
            foreign[voter] = value
        }
        self.lasting = self.lasting.filter { $0.value > reading.revision }
        news.put = foreign.filter { self.voters[$0.key] != $0.value }
        news.gone = Set(self.voters.keys.filter { foreign[$0] == nil })
        news.lacksOwn = self.own.contains { number, revision in
            revision <= reading.revision
                && reading.voters[SharedKeys.Voter(self.host, number)] == nil
        }
        self.voters = foreign
    }

    /// Whether what has happened to an own one is about one that outlives sessions.
    private func isLasting(
        _ voter: SharedKeys.Voter,
        _ event: WatchEvent,
        beside news: News
    ) -> Bool {
        guard event.isDeletion else { return event.entry.lease == 0 }
        return self.voters[voter] != nil || news.put[voter] != nil
    }

    // MARK: - What the watch brings

    /// Takes over what happened up to that revision; nil if a read has to show it.
    mutating func follow(_ events: [WatchEvent], through: Int64) -> News? {
        guard let memory else { return News() }
        var found: [SharedReading.Found] = []
        var newest: (head: Head, entry: KeyValue)?
        var news = News()
        for event in events where event.entry.modRevision > self.seen {
            let entry = event.entry
            switch self.keys.subject(of: entry.key) {
            case .head:
                // One that cannot be read, and a deleted one, are seen by a look.
                guard !event.isDeletion, let head = try? Head(reading: entry.value),
                    head.epoch == memory.epoch
                else { return nil }
                newest = (head, entry)
            case .block(memory.epoch, let first) where !event.isDeletion:
                let mark = Restoration.Mark(first, entry.value)
                found.append(SharedReading.Found(mark: mark, block: Block(at: first, entry.value)))
            case .voter(let voter)
            where voter.host != self.host || self.isLasting(voter, event, beside: news):
                if self.isOld(voter, entry.modRevision) { break }
                if event.isDeletion {
                    news.put[voter] = nil
                    news.gone.insert(voter)
                } else {
                    news.put[voter] = entry.value
                    news.gone.remove(voter)
                }
            case .voter(let voter):
                if event.isDeletion, let own = self.own[voter.number], own < entry.modRevision {
                    news.lacksOwn = true
                }
            case .ticket(let ticket):
                let created = event.isDeletion ? nil : entry.createRevision
                self.queue.seen(ticket, created: created, at: entry.modRevision)
            case .settings: news.hasSettings = true
            case .block, .host, nil: break
            }
        }
        news.progress.blocks = self.reachBlocks(found)
        news.gone.formIntersection(self.voters.keys)
        self.voters.merge(news.put) { $1 }
        for voter in news.gone { self.voters[voter] = nil }
        self.seen = max(self.seen, through)
        self.votersRevision = max(self.votersRevision, through)
        if let newest, newest.entry.modRevision > self.headRevision {
            (self.head, self.headRevision) = (newest.head, newest.entry.modRevision)
            self.headVersion = newest.entry.version
        }
        news.progress.renewed = self.takeRenewal()
        return news
    }
}
#endif

#if Cluster
import StateMachineCore
import StateMachineProtocol

@testable import StateMachineEtcd

/// What the engine committed, and what hosts told their clients of it: whether both agree.
///
/// The seq is the witness of the order, so comparing costs little more than sorting.
final class SimulatedRecord {
    struct Position: Hashable, Comparable, CustomStringConvertible {
        /// Which of the epochs, in their order.
        let epoch: Int
        let seq: UInt64
        static func < (left: Self, right: Self) -> Bool {
            (left.epoch, left.seq) < (right.epoch, right.seq)
        }
        var description: String { "\(self.epoch):\(self.seq)" }
    }

    /// What a client was answered.
    struct Answered {
        enum Kind {
            /// The set with that id was committed there.
            case set(Int64)
            /// The time of the stay there began anew, for the ask with that id.
            case renewal(Int64)
            /// The host was there, as a quorum.
            case read
            /// A hold was there.
            case denied
        }
        let kind: Kind
        let position: Position
        let begun: Int64
        let ended: Int64
        let host: String
    }

    /// A hold that was answered.
    struct Hold {
        let answered: Int64
        /// When its end was asked for, or known to its owner.
        var ended: Int64?
        let voter: SharedKeys.Voter
    }

    struct Committed {
        /// Where sets were committed, by their ids.
        typealias Places = [Int64: [Position]]
        let id: Int64
        let time: Int64
        let change: SharedChange
        let period: Int
        let revision: Int64
    }

    let keys: SharedKeys
    let keepChanges: UInt64
    private(set) var violations: [String] = []
    /// When snapshots were put back: what was begun before one and ended after is not compared.
    private(set) var restores: [Int64] = []
    private(set) var epochs: [Epoch] = []
    private var epoch: Epoch?
    private(set) var committed: [Position: [Committed]] = [:]
    private(set) var places: Committed.Places = [:]
    /// What heads have said there.
    private var heads: [Position: Set<SharedChange>] = [:]
    /// Tickets in the engine, by the revisions at which they were created.
    private var tickets: [SharedKeys.Ticket: Int64] = [:]
    /// The last one of each host that has ended.
    private var endedTickets: [String: Int64] = [:]
    /// Where the engine is.
    private(set) var head: Head?
    /// The first seq of the log that was never pruned, as far as that was promised.
    private var begun: [Int64: Int64] = [:]
    private var refused: Set<Int64> = []
    private var answered: [Answered] = []
    var holds: [Hold] = []
    /// Whether the owner of a hold counts on it.
    var countsOn: (SharedKeys.Voter) -> Bool = { _ in false }
    /// Until when it may.
    var deadline: (SharedKeys.Voter) -> Int64 = { _ in .max }
    /// What the engine has lost though it should not have.
    private var lost: Set<SharedKeys.Voter> = []
    /// When keys of voters were there.
    private var voters: [SharedKeys.Voter: [(from: Int64, to: Int64)]] = [:]
    /// The newest positions and when they came, for reads of hosts that say they are fresh.
    private var newest: [(time: Int64, position: Position)] = []

    init(_ keys: SharedKeys, keepChanges: UInt64) {
        (self.keys, self.keepChanges) = (keys, keepChanges)
    }

    func violation(_ what: String) {
        if self.violations.count < 20 { self.violations.append(what) }
    }

    private func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { self.violation(what()) }
    }

    func position(_ epoch: Epoch, _ seq: UInt64) -> Position {
        Position(epoch: self.epochs.firstIndex(of: epoch) ?? -1, seq: seq)
    }

    // MARK: - The engine

    func happened(_ step: ModelEngine.Step, at now: Int64, _ model: ModelEngine) {
        var new: Head?
        var blocks: [Block] = []
        let tickets = self.tickets
        for event in step.events {
            switch self.keys.subject(of: event.entry.key) {
            case .ticket(let ticket):
                if let old = self.tickets[ticket] { self.endedTickets[ticket.host] = old }
                self.tickets[ticket] = event.isDeletion ? nil : event.entry.createRevision
                self.expectLease(event, ticket.host)
            case .head: new = try? Head(reading: event.entry.value)
            case .block(_, let first) where !event.isDeletion:
                if let block = Block(at: first, event.entry.value) { blocks.append(block) }
            case .voter(let voter):
                self.voters[voter, default: []].end(at: now)
                self.expect(
                    !event.isDeletion || self.lost.contains(voter) || !self.isCountedOn(voter),
                    "\(voter) is gone, and its owner counts on it"
                )
                if !event.isDeletion { self.voters[voter]?.append((now, .max)) }
                self.expectLease(event, voter.host)
            case .block where event.isDeletion: self.pruned(model)
            case .block, .host, .settings, nil: break
            }
        }
        if let block = blocks.first { self.expectTurn(block.author.host, tickets) }
        guard let new else { return self.expect(blocks.isEmpty, "a block came without a head") }
        if self.epoch != new.epoch {
            self.epoch = new.epoch
            self.expect(!self.epochs.contains(new.epoch), "epoch \(new.epoch) came twice")
            self.epochs.append(new.epoch)
            self.expect(
                self.epochs.count <= self.restores.count + 1,
                "an epoch began without a restore"
            )
            if let head {
                self.expect(
                    new.seq == head.seq,
                    "a new epoch began at \(new.seq) and not at \(head.seq)"
                )
            }
        } else if let head {
            let length = blocks.reduce(0) { $0 + UInt64($1.changes.count) }
            self.expect(blocks.count <= 1, "two blocks in one transaction")
            self.expect(
                new.seq == head.seq + length,
                "the head went from \(head.seq) to \(new.seq) with \(length) changes"
            )
            if let block = blocks.first {
                self.expect(
                    block.first == head.seq + 1,
                    "block \(block.first) follows seq \(head.seq)"
                )
            }
        }
        let before = self.head?.last
        self.head = new
        if self.epoch != nil, !blocks.isEmpty { self.expectBound(model, new) }
        let position = self.position(new.epoch, new.seq)
        self.heads[position, default: []].insert(new.last)
        if let renewed = new.last.times.known.first?.value?.integer,
            new.last != blocks.last?.changes.last ?? before
        {
            self.committed(renewed, at: position)
        }
        for block in blocks {
            self.note(block, new.epoch, now, step.revision)
            for (last, change) in zip([before] + block.changes.map(\.self), block.changes)
            where change.by == nil {
                let isDue =
                    last?.state == "on"
                    && last.map { $0.times.entered.microseconds + Simulation.delay <= now } == true
                self.expect(isDue, "the machine has moved by itself, and no time has come")
            }
        }
        self.newest.append((now, position))
    }

    /// A host commits if no other has an older ticket than the one that it has, or had until just now.
    private func expectTurn(_ host: String, _ tickets: [SharedKeys.Ticket: Int64]) {
        let own =
            tickets.filter { $0.key.host == host }.map(\.value).min() ?? self.endedTickets[host]
        guard let next = tickets.min(by: { $0.value < $1.value }), next.key.host != host else {
            return
        }
        self.expect(
            (own ?? .max) < next.value,
            "\(host) has committed, and \(next.key.host) has the oldest ticket"
        )
    }

    /// What belongs to a host ends with its session.
    private func expectLease(_ event: WatchEvent, _ host: String) {
        self.expect(
            event.isDeletion || event.entry.lease != 0 || host == "outsider",
            "\(String(decoding: event.entry.key, as: UTF8.self)) has no lease"
        )
    }

    /// The log is pruned, and others than that of the present epoch are gone.
    private func expectBound(_ model: ModelEngine, _ head: Head) {
        let all = model.entries(KeyRange(prefix: "\(self.keys.prefix)log/")).count
        let own = model.entries(self.keys.blocks(of: head.epoch)).count
        self.expect(all == own, "the log of an epoch that has ended is there")
        // Every third block prunes, each with six changes at most.
        let bound = Int(self.keepChanges) + 6 * 6
        self.expect(own <= bound, "the log has \(own) blocks")
    }

    private func note(_ block: Block, _ epoch: Epoch, _ now: Int64, _ revision: Int64) {
        for (offset, change) in block.changes.enumerated() {
            let position = self.position(epoch, block.first + UInt64(offset))
            let id = change.data["id"]?.integer ?? 0
            let committed = Committed(
                id: id,
                time: now,
                change: change,
                period: self.restores.count,
                revision: revision
            )
            self.committed[position, default: []].append(committed)
            self.committed(id, at: position)
        }
    }

    private func committed(_ id: Int64, at position: Position) {
        self.places[id, default: []].append(position)
        self.expect(self.places[id]?.count == 1, "\(id) was committed twice")
        self.expect(!self.refused.contains(id), "\(id) was refused, and committed then")
    }

    private func pruned(_ model: ModelEngine) {
        guard
            let head = model.entries(KeyRange(self.keys.head)).first.flatMap({
                try? Head(reading: $0.value)
            })
        else { return }
        guard head.seq > 0, head.epoch == self.epoch else { return }
        let first = model.entries(self.keys.blocks(of: head.epoch)).first.flatMap {
            entry -> UInt64? in
            if case .block(_, let first) = self.keys.subject(of: entry.key) { first } else { nil }
        }
        let oldest = first ?? head.seq + 1
        let promised = head.seq > self.keepChanges ? head.seq - self.keepChanges + 1 : 1
        self.expect(
            oldest <= promised || self.restores.count > 0 && oldest <= head.seq,
            "pruned up to \(oldest) at seq \(head.seq)"
        )
    }

    /// Whether its owner counts on it, and does not want it to end.
    private func isCountedOn(_ voter: SharedKeys.Voter) -> Bool {
        self.holds.contains { $0.voter == voter && $0.ended == nil } && self.countsOn(voter)
    }

    /// The engine loses those keys.
    func lost(_ keys: [[UInt8]], at now: Int64) {
        for key in keys {
            guard case .voter(let voter) = self.keys.subject(of: key) else { continue }
            self.lost.insert(voter)
            // What is set from now on has not seen it.
            for (index, hold) in self.holds.enumerated() where hold.voter == voter {
                self.holds[index].ended = hold.ended ?? min(now, self.deadline(voter))
            }
        }
    }

    func endHolds(of host: String, at now: Int64) {
        for (index, hold) in self.holds.enumerated()
        where hold.voter.host == host && hold.ended == nil {
            self.holds[index].ended = now
        }
    }

    func restored(_ model: ModelEngine, _ places: Committed.Places, at now: Int64) {
        self.restores.append(now)
        self.head = model.entries(KeyRange(self.keys.head)).first.flatMap {
            try? Head(reading: $0.value)
        }
        for voter in self.voters.keys { self.voters[voter]?.end(at: now) }
        for entry in model.entries(self.keys.voters) {
            if case .voter(let voter) = self.keys.subject(of: entry.key) {
                self.voters[voter, default: []].append((now, .max))
            }
        }
        self.newest = []
        self.epoch = self.head?.epoch
        // What is lost may be done again.
        self.places = places
        (self.tickets, self.endedTickets) = ([:], [:])
        for entry in model.entries(self.keys.queue) {
            if case .ticket(let ticket) = self.keys.subject(of: entry.key) {
                self.tickets[ticket] = entry.createRevision
            }
        }
        for index in self.holds.indices where self.holds[index].ended == nil {
            self.holds[index].ended = min(now, self.deadline(self.holds[index].voter))
        }
    }

    // MARK: - Clients

    func begin(_ id: Int64, at now: Int64) { self.begun[id] = now }

    func refused(_ id: Int64, _ why: String) {
        self.refused.insert(id)
        self.expect(
            self.places[id]?.isEmpty ?? true,
            "set \(id) was refused (\(why)) and had been committed"
        )
    }

    func answered(_ answer: Answered) {
        self.answered.append(answer)
        let (id, isThere): (Int64, Bool)
        switch answer.kind {
        case .set(let set):
            id = set
            isThere = self.committed[answer.position]?.contains { $0.id == id } ?? false
        // A later one may be there in its place.
        case .renewal(let renewal):
            id = renewal
            isThere =
                self.heads[answer.position]?.contains {
                    ($0.times.known.first?.value?.integer ?? 0) >= id
                } ?? false
        case .read, .denied: return
        }
        self.expect(
            isThere,
            "\(answer.host): \(id) was acknowledged at \(answer.position) and is not there"
        )
    }

    /// A host shows more of the times of the stay that it is in.
    func shown(renewal last: SharedChange, _ position: Position, _ host: String) {
        self.expect(
            self.heads[position]?.contains(last) ?? false,
            "\(host): shows at \(position) what no head has said there"
        )
    }

    /// A host shows a change.
    func shown(_ change: SharedChange, _ position: Position, _ host: String) {
        let isThere = self.committed[position]?.contains { $0.change == change } ?? false
        self.expect(
            isThere,
            "\(host): shows at \(position) what was not committed there: \(change.data)"
        )
    }

    /// A host that says it is fresh shows where it is.
    func read(_ position: Position, staleAfter: Int64, at now: Int64, _ host: String) {
        guard let old = self.newest.last(where: { $0.time < now - staleAfter }) else { return }
        self.expect(
            position >= old.position,
            "\(host): fresh, and shows \(position); \(old.position) is old"
        )
        if self.newest.count > 2000 { self.newest.removeFirst(1000) }
    }

    // MARK: - The end

    private func period(_ time: Int64) -> Int { self.restores.prefix { $0 <= time }.count }

    func check() {
        self.checkOrder()
        self.checkHolds()
        self.checkDenials()
    }

    /// Nobody who ended before another began has the larger seq.
    private func checkOrder() {
        let ended = self.answered.filter { self.period($0.begun) == self.period($0.ended) }
        let byEnd = ended.sorted { $0.ended < $1.ended }
        var (next, newest): (Int, Answered?) = (0, nil)
        for answer in ended.sorted(by: { $0.begun < $1.begun }) {
            while next < byEnd.count, byEnd[next].ended < answer.begun {
                let isLater = newest.map {
                    self.period($0.begun) < self.period(byEnd[next].begun)
                        || $0.position < byEnd[next].position
                }
                if isLater ?? true { newest = byEnd[next] }
                next += 1
            }
            guard let newest, self.period(newest.begun) == self.period(answer.begun) else {
                continue
            }
            let isInOrder: Bool
            switch answer.kind {
            case .set: isInOrder = answer.position > newest.position
            case .read, .denied, .renewal: isInOrder = answer.position >= newest.position
            }
            self.expect(
                isInOrder,
                "\(answer.host) was answered \(answer.position) (\(answer.kind)) for what began at \(answer.begun), "
                    + "and \(newest.host) had been answered \(newest.position) (\(newest.kind)) at \(newest.ended)"
            )
        }
    }

    /// Nothing is committed that was sent after a hold was answered, and before that ended.
    private func checkHolds() {
        for (position, all) in self.committed {
            for committed in all {
                guard let begun = self.begun[committed.id], self.period(begun) == committed.period
                else { continue }
                for hold in self.holds
                where hold.answered < begun && (hold.ended ?? .max) > committed.time
                    && self.period(hold.answered) == committed.period
                {
                    self.violation(
                        "set \(committed.id) at \(position) began at \(begun); hold \(hold.voter) was answered at \(hold.answered)"
                    )
                }
            }
        }
    }

    /// Whoever was denied had a hold against it at some moment of its waiting; an engine that was restored may have lost one that its owner still counts on.
    private func checkDenials() {
        for answer in self.answered {
            guard case .denied = answer.kind, self.period(answer.ended) == 0 else { continue }
            let hasReason = self.voters.values.contains {
                $0.contains { $0.from <= answer.ended && $0.to >= answer.begun }
            }
            self.expect(
                hasReason,
                "\(answer.host) was denied at \(answer.position), \(answer.begun) to \(answer.ended), by nobody"
            )
        }
    }
}

extension [(from: Int64, to: Int64)] {
    fileprivate mutating func end(at now: Int64) {
        if let last = self.last, last.to == .max { self[self.count - 1].to = now }
    }
}
#endif

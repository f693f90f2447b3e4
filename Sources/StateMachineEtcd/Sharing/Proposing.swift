#if Cluster
/// The group that is to be committed, and what a host does for its turn.
///
/// A value that decides and does nothing.
struct Proposing: Sendable {
    /// How long a host keeps a ticket without proposing anything.
    ///
    /// 20 ms: a client that sets again as soon as it is answered takes one or two.
    private static let pause = Duration.milliseconds(20)
    /// How long a ticket may be the next without a commit.
    ///
    /// A second: slower than a slow commit, faster than a session's end.
    private static let orphanAge = Duration.seconds(1)

    struct Pending: Sendable {
        let number: UInt64
        let group: SharedMachine.Group
        /// The first look that was begun after it came.
        let look: UInt64
        /// What it puts is held by that one alone.
        let session: Int64?
        fileprivate(set) var isSent = false
    }

    /// What to do for the group, or for others since there is none.
    enum Step: Sendable {
        case put(SharedKeys.Ticket)
        case remove(SharedKeys.Ticket, created: Int64)
        case commit(SharedMachine.Group)
        /// Nobody may stand in the way for longer.
        case arm(SharedMachine.Timer, Duration)
    }

    private(set) var pending: Pending?
    private var groups: UInt64 = 0
    private var isPausing = false
    private var orphan: (ticket: SharedKeys.Ticket, created: Int64)?

    /// Whether there is one, and nothing of it can have been applied.
    var isWaiting: Bool { self.pending.map { !$0.isSent } ?? false }

    /// A group has come; `look` is the next one.
    mutating func begin(
        _ group: SharedMachine.Group,
        before look: UInt64,
        in session: Int64?
    ) -> Pending {
        self.groups += 1
        self.isPausing = false
        let pending = Pending(number: self.groups, group: group, look: look, session: session)
        self.pending = pending
        return pending
    }

    /// Its transaction has gone out.
    mutating func sent() { self.pending?.isSent = true }

    /// Its transaction was surely not applied.
    mutating func undone() { self.pending?.isSent = false }

    /// What to do since it is answered; nothing if there is none.
    mutating func answer(_ answer: SharedMachine.Answer) -> [SharedMachine.Action] {
        guard let pending = self.pending.take() else { return [] }
        self.orphan = nil
        self.isPausing = true
        return [.answer(answer), .disarm(.group(pending.number)), .arm(.pause, Self.pause)]
    }

    /// Whether the one of that number is still to be answered.
    func awaits(_ number: UInt64) -> Bool { self.pending?.number == number }

    /// Others wait for the own ticket, if there is one.
    mutating func endPause() { self.isPausing = false }

    /// What to do next, as tickets are; nil: nothing.
    mutating func next(_ queue: TicketQueue) -> Step? {
        guard let pending else {
            guard let own = queue.own, !self.isPausing else { return nil }
            return .remove(own.ticket, created: own.created)
        }
        if pending.group.isEmpty ? queue.needsQuiet : queue.needsTicket { return .put(queue.free) }
        // The look answers it.
        guard !pending.group.isEmpty else { return nil }
        guard !queue.isOurTurn else { return .commit(pending.group) }
        guard let head = queue.head, self.orphan.map({ $0 != head }) ?? true else { return nil }
        self.orphan = head
        return .arm(.orphan, Self.orphanAge)
    }

    /// The ticket that was the next for too long, if it still is.
    mutating func takeOrphan(
        _ queue: TicketQueue
    ) -> (ticket: SharedKeys.Ticket, created: Int64)? {
        guard let orphan, let head = queue.head, orphan == head else { return nil }
        self.orphan = nil
        return orphan
    }
}
#endif

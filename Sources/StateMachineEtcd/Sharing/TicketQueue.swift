#if Cluster
/// Who may commit next where several hosts want to: whoever has lost too often puts a ticket, and the oldest ticket is next.
///
/// A value that decides and does nothing. Without this one host of four never won.
package struct TicketQueue: Sendable {
    /// 3: whoever loses by chance alone loses that often one time in eight or less.
    private static let losses = 3

    private let host: String
    /// By the revision at which they were created; no two have one.
    private var tickets: [SharedKeys.Ticket: Int64] = [:]
    /// The newest revision at which this host has put or taken a ticket itself.
    private var ownRevision: Int64 = 0
    private var lost = 0

    package init(host: String) { self.host = host }

    /// The own ticket; nil if there is none.
    package var own: (ticket: SharedKeys.Ticket, created: Int64)? {
        self.tickets.filter { $0.key.host == self.host }.min { $0.value < $1.value }.map {
            ($0.key, $0.value)
        }
    }

    /// Whose ticket is next.
    package var head: (ticket: SharedKeys.Ticket, created: Int64)? {
        self.tickets.min { $0.value < $1.value }.map { ($0.key, $0.value) }
    }

    /// Whether a transaction of this host's has a chance.
    package var isOurTurn: Bool { self.head.map { $0.ticket.host == self.host } ?? true }

    /// Whether to put a ticket before the next transaction.
    package var needsTicket: Bool {
        self.own == nil && (self.lost >= Self.losses || !self.tickets.isEmpty)
    }

    /// Whether to put a ticket to read without others' changing what is read each time.
    package var needsQuiet: Bool { self.own == nil && self.lost >= Self.losses }

    /// The ticket to put in the place of the own one in its transaction, if others wait and more is to come.
    package var swap: SharedKeys.Ticket? {
        guard let own, self.tickets.count > 1 else { return nil }
        return SharedKeys.Ticket(self.host, 1 - own.ticket.number)
    }

    /// The number of the ticket to put.
    package var free: SharedKeys.Ticket { SharedKeys.Ticket(self.host, 0) }

    /// Others were first.
    package mutating func lose() { self.lost += 1 }

    /// What was asked for is so without a transaction.
    package mutating func confirm() { self.lost = 0 }

    /// The own transaction was applied at that revision, and took the own ticket with it; `swapped` is the one that it has put.
    package mutating func win(at revision: Int64, putting swapped: SharedKeys.Ticket?) {
        self.lost = 0
        self.removeOwn(at: revision)
        if let swapped { self.tickets[swapped] = revision }
    }

    /// The own ticket was put.
    package mutating func put(_ ticket: SharedKeys.Ticket, at revision: Int64) {
        self.tickets[ticket] = revision
        self.ownRevision = max(self.ownRevision, revision)
    }

    /// A ticket was removed.
    package mutating func remove(_ ticket: SharedKeys.Ticket, at revision: Int64) {
        self.tickets[ticket] = nil
        if ticket.host == self.host { self.ownRevision = max(self.ownRevision, revision) }
    }

    private mutating func removeOwn(at revision: Int64) {
        for ticket in self.tickets.keys where ticket.host == self.host {
            self.tickets[ticket] = nil
        }
        self.ownRevision = max(self.ownRevision, revision)
    }

    /// What the watch has brought of a ticket; nil: it is gone.
    ///
    /// Older news of the own ones than what this host knows itself are passed over.
    package mutating func seen(_ ticket: SharedKeys.Ticket, created: Int64?, at revision: Int64) {
        guard ticket.host != self.host || revision > self.ownRevision else { return }
        self.tickets[ticket] = created
    }

    /// All tickets, as a read shows them at that revision.
    package mutating func seen(_ tickets: [SharedKeys.Ticket: Int64], at revision: Int64) {
        guard revision < self.ownRevision else {
            self.tickets = tickets
            return
        }
        let own = self.tickets.filter { $0.key.host == self.host }
        self.tickets = tickets.filter { $0.key.host != self.host }.merging(own) { $1 }
    }

    /// The revisions begin again.
    package mutating func begin(_ tickets: [SharedKeys.Ticket: Int64]) {
        (self.tickets, self.ownRevision) = (tickets, 0)
    }
}
#endif

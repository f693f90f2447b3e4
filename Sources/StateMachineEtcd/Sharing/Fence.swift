#if Cluster
/// Whether a transaction that was sent has been applied, and whether it still can be.
///
/// A transaction whose answer was lost may be applied later. It compares the head's revision, so once that has moved it never will be: if it
/// has not moved, a transaction that changes nothing moves it. A value that decides and does nothing.
package struct Fence: Sendable {
    package enum Event: Hashable, Sendable {
        /// The transaction goes out; it compares the head with that revision.
        case sent(headRevision: Int64)
        /// It has been applied, or surely never will be.
        case settled
        /// Its answer was lost.
        case lost
        /// The engine has no room: it has been applied, or never will be.
        case lostAtLimit
        /// What a read shows that was begun after its answer was lost.
        case seen(isOurs: Bool, headRevision: Int64)
        /// The fence goes out.
        case fencing
        /// The head was moved by it.
        case fenced
        /// It has moved nothing, or its answer was lost.
        case fenceFailed
    }

    package enum Order: Hashable, Sendable {
        /// Read what is there.
        case look
        /// Put the head as it is if its revision is still that.
        case fence(headRevision: Int64)
        /// The transaction was applied.
        case happened
        /// It was not, nor will it be.
        case neverWill
    }

    private enum State: Hashable {
        case clear
        /// Its answer will come.
        case sent(Int64)
        /// Its answer does not come.
        case unsure(Int64)
        case unsureAtLimit
        /// A read has not shown it, and the head has not moved.
        case toFence(Int64)
        case fencing(Int64)
    }

    private var state = State.clear

    package init() {}

    /// Whether nothing is under way that could still be applied.
    package var isClear: Bool { self.state == .clear }

    /// Whether it is known that nobody will say what has become of it.
    package var isUnsure: Bool {
        switch self.state {
        case .clear, .sent: false
        case .unsure, .unsureAtLimit, .toFence, .fencing: true
        }
    }

    /// What to do; nil if there is nothing to do until the next event.
    ///
    /// What does not fit the state is passed over.
    package mutating func thisHappened(_ event: Event) -> Order? {
        switch (event, self.state) {
        case (.sent(let revision), .clear): self.state = .sent(revision)
        case (.settled, .sent): self.state = .clear
        case (.lost, .sent(let revision)):
            self.state = .unsure(revision)
            return .look
        case (.lostAtLimit, .sent):
            self.state = .unsureAtLimit
            return .look
        case (.seen(let isOurs, let seen), .unsure(let revision)),
            (.seen(let isOurs, let seen), .toFence(let revision)):
            guard !isOurs, seen == revision else { return self.settle(isOurs) }
            self.state = .toFence(revision)
            return .fence(headRevision: revision)
        case (.seen(let isOurs, _), .unsureAtLimit): return self.settle(isOurs)
        case (.fencing, .toFence(let revision)): self.state = .fencing(revision)
        case (.fenced, .fencing): return self.settle(false)
        case (.fenceFailed, .fencing(let revision)):
            self.state = .unsure(revision)
            return .look
        case (.sent, _), (.settled, _), (.lost, _), (.lostAtLimit, _), (.seen, _), (.fencing, _),
            (.fenced, _),
            (.fenceFailed, _):
            return nil
        }
        return nil
    }

    private mutating func settle(_ happened: Bool) -> Order {
        self.state = .clear
        return happened ? .happened : .neverWill
    }
}
#endif

/// When a machine makes the moves that are due in its present stay: each when its time has come, and again after pauses
/// that grow, for as long as the stay lasts.
///
/// A value that decides and does nothing; each method is an event. Times are readings of one clock that nobody sets, in
/// microseconds. One move is tried at a time; one that was tried in vain keeps no later one from being tried.
package struct StayWatch: Sendable {
    /// What is waited for.
    package struct Deadline: Hashable, Sendable {
        /// The stay in which it is due.
        package let stay: UInt64
        /// How often that had begun anew by then.
        package let renewals: UInt32
        /// Which of the stay's times it is.
        package let key: String
        /// From when on it counts; of a moment of the calendar that moment, since nothing else tells it from another.
        package let start: Int64
        /// When it is due.
        package let due: Int64

        package init(stay: UInt64, renewals: UInt32, key: String, start: Int64, due: Int64) {
            self.stay = stay
            self.renewals = renewals
            self.key = key
            self.start = start
            self.due = due
        }

        /// Whether both are the same one, which may have come to be due at another reading: the calendar's clock was set.
        fileprivate func isSame(as other: Self) -> Bool {
            self.stay == other.stay && self.renewals == other.renewals && self.start == other.start
                && self.key == other.key
        }
    }

    /// One attempt at a move.
    package struct Attempt: Sendable {
        package let deadline: Deadline
        fileprivate let number: UInt64
    }

    private struct Pending: Sendable {
        var deadline: Deadline
        let number: UInt64
        /// When it is tried next; nil: it waits for an event.
        var next: Int64?
        var pause = GrowingPause()
        /// Whether it was tried in vain, or withheld.
        var isOverdue = false
        /// Whether it is being tried.
        var isTried = false
        /// Whether nothing can be made of it as the state is.
        var isImpossible = false
    }

    /// In the order in which those are tried that are due at once.
    private var pending: [Pending] = []
    /// The number of the last that was waited for.
    private var number: UInt64 = 0

    package init() {}

    /// Whether anything is waited for.
    package var isWaiting: Bool { !self.pending.isEmpty }

    /// When it is to be looked at again; nil: one is being tried, or nothing is waited for.
    package var next: Int64? {
        self.pending.contains(where: \.isTried) ? nil : self.pending.compactMap(\.next).min()
    }

    /// Whether just these are waited for.
    package func awaits(_ deadlines: [Deadline]) -> Bool {
        self.pending.count == deadlines.count
            && zip(self.pending, deadlines).allSatisfy { $0.deadline.isSame(as: $1) }
    }

    /// What has been overdue for the longest time; nil if nothing was tried in vain, or withheld.
    package var overdue: Deadline? {
        self.pending.lazy.filter(\.isOverdue).map(\.deadline).min { $0.due < $1.due }
    }

    /// Waits for these in place of what was waited for; what was and still is goes on as it was.
    package mutating func expect(_ deadlines: [Deadline]) {
        self.pending = deadlines.map { deadline in
            guard var known = self.pending.first(where: { $0.deadline.isSame(as: deadline) }) else {
                self.number += 1
                return Pending(deadline: deadline, number: self.number, next: deadline.due)
            }
            known.deadline = deadline
            if !known.isTried, !known.isOverdue { known.next = deadline.due }
            return known
        }
    }

    /// Takes one up if its time has come; whoever has asked tries it.
    package mutating func rang(at now: Int64) -> Attempt? {
        guard let next, next <= now else { return nil }
        let ready = self.pending.indices.filter { self.pending[$0].next.map { $0 <= now } ?? false }
        guard
            let first = ready.min(by: {
                self.pending[$0].deadline.due < self.pending[$1].deadline.due
            })
        else { return nil }
        self.pending[first].isTried = true
        return Attempt(
            deadline: self.pending[first].deadline,
            number: self.pending[first].number
        )
    }

    /// It may not be made now, until somebody asks for something.
    package mutating func withheld(_ attempt: Attempt) {
        self.ended(attempt) { pending in
            pending.isOverdue = true
            pending.next = nil
        }
    }

    /// It was tried in vain, and is tried again after a pause.
    ///
    /// - Returns: whether it is still waited for.
    package mutating func failed(_ attempt: Attempt, at now: Int64) -> Bool {
        self.ended(attempt) { pending in
            pending.isOverdue = true
            pending.next = now &+ pending.pause.next().wholeMicroseconds
        }
    }

    /// It was made, or is no longer what is due; what is comes by ``expect(_:)``.
    ///
    /// - Returns: whether it was still waited for.
    package mutating func ended(_ attempt: Attempt) -> Bool {
        self.ended(attempt) { $0.next = nil }
    }

    /// It cannot be made as the state is.
    package mutating func gaveUp(_ attempt: Attempt) {
        self.ended(attempt) { pending in
            pending.isOverdue = true
            pending.isImpossible = true
            pending.next = nil
        }
    }

    /// The state carries something else: what could not be made is tried at once.
    ///
    /// - Returns: whether there is such.
    package mutating func reconsider(at now: Int64) -> Bool {
        var isThere = false
        for index in self.pending.indices where self.pending[index].isImpossible {
            self.pending[index].isImpossible = false
            self.pending[index].next = now
            isThere = true
        }
        return isThere
    }

    /// What kept one from being made may have gone: what is overdue is tried at once.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - anew: whether the pauses begin anew.
    /// - Returns: whether anything is overdue.
    package mutating func hurry(at now: Int64, anew: Bool) -> Bool {
        var isOverdue = false
        for index in self.pending.indices {
            if anew { self.pending[index].pause.reset() }
            guard self.pending[index].isOverdue else { continue }
            self.pending[index].next = now
            isOverdue = true
        }
        return isOverdue
    }

    @discardableResult
    private mutating func ended(_ attempt: Attempt, _ note: (inout Pending) -> Void) -> Bool {
        guard let index = self.pending.firstIndex(where: { $0.number == attempt.number }) else {
            return false
        }
        self.pending[index].isTried = false
        note(&self.pending[index])
        return true
    }
}

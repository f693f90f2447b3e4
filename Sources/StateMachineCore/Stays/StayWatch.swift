/// When a machine makes the move that is due in its present stay: when its time has come, and again after pauses that
/// grow, for as long as the stay lasts.
///
/// A value that decides and does nothing; each method is an event. Times are readings of one clock that nobody sets, in
/// microseconds.
package struct StayWatch: Sendable {
    /// What is waited for.
    package struct Deadline: Hashable, Sendable {
        /// The stay that it ends.
        package let stay: UInt64
        /// How often it had begun anew by then.
        package let renewals: UInt32
        /// From when on it counts.
        package let start: Int64
        /// When it is due.
        package let due: Int64

        /// One that is due so long after its start.
        package init(stay: UInt64, renewals: UInt32, start: Int64, delay: Duration) {
            self.init(
                stay: stay,
                renewals: renewals,
                start: start,
                due: start &+ delay.wholeMicroseconds
            )
        }

        /// One that is due then.
        package init(stay: UInt64, renewals: UInt32, start: Int64, due: Int64) {
            (self.stay, self.renewals, self.start, self.due) = (stay, renewals, start, due)
        }
    }

    /// One attempt at the move.
    package struct Attempt: Sendable {
        package let deadline: Deadline
        fileprivate let number: UInt64
    }

    private struct Pending: Sendable {
        let deadline: Deadline
        let number: UInt64
        /// When it is tried next; nil: it waits for an event.
        var next: Int64?
        var pause = GrowingPause()
        /// Whether it was tried in vain, or withheld.
        var isOverdue = false
        /// Whether it is being tried, or was made.
        var isTried = false
    }

    private var pending: Pending?
    /// The number of the last that was waited for.
    private var number: UInt64 = 0

    package init() {}

    /// What is waited for; nil: nothing.
    package var deadline: Deadline? { self.pending?.deadline }

    /// When it is to be looked at again; nil: it is being tried, or nothing is waited for.
    package var next: Int64? { self.pending.flatMap { $0.isTried ? nil : $0.next } }

    /// Whether that deadline is waited for, whatever makes of it when it is due.
    package func awaits(stay: UInt64, renewals: UInt32, start: Int64) -> Bool {
        guard let deadline else { return false }
        return deadline.stay == stay && deadline.renewals == renewals && deadline.start == start
    }

    /// Since when what is waited for is overdue; nil if it was not tried in vain, or withheld.
    package var overdueSince: Int64? {
        self.pending.flatMap { $0.isOverdue ? $0.deadline.due : nil }
    }

    /// Waits for that in place of what was waited for; nil: for nothing.
    package mutating func expect(_ deadline: Deadline?) {
        self.number += 1
        self.pending = deadline.map {
            Pending(deadline: $0, number: self.number, next: $0.due)
        }
    }

    /// Takes it up if its time has come; whoever has asked tries it.
    package mutating func rang(at now: Int64) -> Attempt? {
        guard let next, next <= now, let pending else { return nil }
        self.pending?.isTried = true
        return Attempt(deadline: pending.deadline, number: pending.number)
    }

    /// It may not be made now, until somebody asks for something.
    package mutating func withheld(_ attempt: Attempt) {
        guard self.isPending(attempt) else { return }
        self.pending?.isTried = false
        self.pending?.isOverdue = true
        self.pending?.next = nil
    }

    /// It was tried in vain, and is tried again after a pause.
    ///
    /// - Returns: whether it is still waited for.
    package mutating func failed(_ attempt: Attempt, at now: Int64) -> Bool {
        guard self.isPending(attempt), let pause = self.pending?.pause.next() else { return false }
        self.pending?.isTried = false
        self.pending?.isOverdue = true
        self.pending?.next = now &+ pause.wholeMicroseconds
        return true
    }

    /// What was tried is no longer what is due; what is comes by ``expect(_:)``.
    ///
    /// - Returns: whether it was still waited for.
    package mutating func missed(_ attempt: Attempt) -> Bool {
        guard self.isPending(attempt) else { return false }
        self.pending?.isTried = false
        self.pending?.next = nil
        return true
    }

    /// What kept it from being made may have gone: what is overdue is tried at once.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - anew: whether the pauses begin anew.
    /// - Returns: whether anything is overdue.
    package mutating func hurry(at now: Int64, anew: Bool) -> Bool {
        if anew { self.pending?.pause.reset() }
        guard self.pending?.isOverdue == true else { return false }
        self.pending?.next = now
        return true
    }

    private func isPending(_ attempt: Attempt) -> Bool { self.pending?.number == attempt.number }
}
